import { App, Aws, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import {
  ManagedPolicy,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
  User,
} from 'aws-cdk-lib/aws-iam';
import { CfnFunction, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct, IMixin } from 'constructs';
import { LifoQueue, type LifoQueueProps, TaskRunner } from 'freshq';
import { QueueAssertions } from 'freshq/testing';

const URL = 'https://quotes.example.com/refresh';

function queueIn(stack: Stack, props: Partial<LifoQueueProps> = {}): LifoQueue {
  return new LifoQueue(stack, 'quotes', { runner: TaskRunner.http({ url: URL }), ...props });
}

function newStack(): Stack {
  return new Stack(new App(), 'Quotes');
}

function functionIn(stack: Stack, id: string): LambdaFunction {
  return new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => {}'),
  });
}

describe('the runner', () => {
  test('is the given endpoint', () => {
    const assertions = QueueAssertions.of(queueIn(newStack()));
    assertions.runsTasksByHttp(URL);
    expect(() => assertions.runsTasksByHttp('https://other.example.com/')).toThrow(
      `Quotes/quotes: the endpoint is "${URL}" instead of "https://other.example.com/"`,
    );
  });

  test('can be an endpoint that is known only at deployment', () => {
    const url = `https://${Aws.REGION}.example.com/`;
    const assertions = QueueAssertions.of(queueIn(newStack(), { runner: TaskRunner.http({ url }) }));
    assertions.runsTasksByHttp(`https://${Aws.REGION}.example.com/`);
    expect(() => assertions.runsTasksByHttp(`https://${Aws.ACCOUNT_ID}.example.com/`)).toThrow(
      'the endpoint is',
    );
  });

  test('is the given function', () => {
    const stack = newStack();
    const work = functionIn(stack, 'work');
    const assertions = QueueAssertions.of(queueIn(stack, { runner: TaskRunner.lambda(work) }));
    assertions.runsTasksByFunction(work);
    expect(() => assertions.runsTasksByFunction(functionIn(stack, 'other'))).toThrow(
      'the function of the runner is',
    );
    expect(() => assertions.runsTasksByHttp(URL)).toThrow('because the runner is of the kind lambda');
  });
});

describe('settings', () => {
  const assertions = QueueAssertions.of(
    queueIn(newStack(), {
      processing: {
        ratePerSecond: 20,
        codel: { target: Duration.seconds(1), interval: Duration.seconds(5) },
      },
    }),
  );

  test('include the defaults, and durations in any unit', () => {
    assertions.hasSettings({
      tasks: { defaultTtl: Duration.minutes(60), maxAttempts: 5 },
      processing: {
        ratePerSecond: 20,
        codel: { target: Duration.millis(1_000), interval: Duration.seconds(5) },
      },
    });
  });

  test.each([
    [{ processing: { ratePerSecond: 10 } }, 'Quotes/quotes: processing.ratePerSecond is 20 instead of 10'],
    [
      { tasks: { defaultTtl: Duration.minutes(2) } },
      'Quotes/quotes: tasks.defaultTtl is "3600000 ms" instead of "120000 ms"',
    ],
    [{ ingest: { batchSize: 10 } }, 'Quotes/quotes: ingest.batchSize is undefined instead of 10'],
    [
      { processing: { codel: { target: Duration.seconds(2), interval: Duration.seconds(5) } } },
      'processing.codel.target is',
    ],
  ])('%j are reported by name', (expected, message) => {
    expect(() => assertions.hasSettings(expected)).toThrow(message);
  });
});

describe('a producer', () => {
  test.each(['grantCreate', 'grantSend', 'grantPut'] as const)('can create tasks after %s', (grant) => {
    const stack = newStack();
    const queue = queueIn(stack, { ingest: {} });
    const producer = functionIn(stack, 'producer');
    queue[grant](producer);
    QueueAssertions.of(queue).letsCreateTasks(producer);
  });

  test.each<[string, (policy: ManagedPolicy, role: Role) => void]>([
    ['is attached to the role', (policy, role) => role.addManagedPolicy(policy)],
    ['names the role', (policy, role) => policy.attachToRole(role)],
  ])('can create tasks after a grant to a managed policy that %s', (_how, attach) => {
    const stack = newStack();
    const queue = queueIn(stack);
    const policy = new ManagedPolicy(stack, 'producers');
    const role = new Role(stack, 'role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    queue.grantCreate(policy);
    const assertions = QueueAssertions.of(queue);
    attach(policy, role);
    assertions.letsCreateTasks(role);
  });

  test('can create tasks with an inline policy of its role', () => {
    const stack = newStack();
    const queue = queueIn(stack);
    const statements = [
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [queue.createTasks.function.functionArn],
      }),
    ];
    const role = new Role(stack, 'role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: { create: new PolicyDocument({ statements }) },
    });
    QueueAssertions.of(queue).letsCreateTasks(role);
  });

  test('with a managed policy of another role is reported', () => {
    const stack = newStack();
    const queue = queueIn(stack);
    const [producer, other] = ['producer', 'other'].map(
      (id) => new Role(stack, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }),
    ) as [Role, Role];
    const policy = new ManagedPolicy(stack, 'producers', { roles: [other] });
    queue.grantCreate(policy);
    expect(() => QueueAssertions.of(queue).letsCreateTasks(producer)).toThrow(
      'Quotes/producer may not create',
    );
  });

  test('can create tasks for a queue in another stack and have other permissions', () => {
    const app = new App();
    const queue = queueIn(new Stack(app, 'Quotes'));
    const theirs = new Stack(app, 'Theirs');
    const role = new Role(theirs, 'role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    queue.grantCreate(role);
    queue.table.grantReadData(role);
    QueueAssertions.of(queue).letsCreateTasks(role);
  });

  test('without a grant, or with a grant on another queue, is reported', () => {
    const stack = newStack();
    const queue = queueIn(stack);
    const other = new LifoQueue(stack, 'other', { runner: TaskRunner.simulated() });
    const producer = functionIn(stack, 'producer');
    other.grantCreate(producer);
    queue.table.grantReadData(producer);
    expect(() => QueueAssertions.of(queue).letsCreateTasks(producer)).toThrow(
      'Quotes/producer/ServiceRole may not create tasks of Quotes/quotes. Remedy: call grantCreate',
    );
  });

  test('without a role is rejected', () => {
    const stack = newStack();
    const queue = queueIn(stack);
    expect(() => QueueAssertions.of(queue).letsCreateTasks(new User(stack, 'user'))).toThrow(
      'needs a function',
    );
  });
});

test('a mixin changes every function of a queue', () => {
  const pinned: IMixin = {
    supports: (construct: IConstruct) => CfnFunction.isCfnFunction(construct),
    applyTo: (construct: IConstruct) => {
      (construct as CfnFunction).runtimeManagementConfig = { updateRuntimeOn: 'FunctionUpdate' };
    },
  };
  const stack = newStack();
  const queue = queueIn(stack, { ingest: {} });
  expect(queue.with(pinned)).toBe(queue);
  const functions = Template.fromStack(stack).findResources('AWS::Lambda::Function', {
    Properties: { Handler: 'bootstrap' },
  });
  expect(Object.keys(functions)).toHaveLength(6);
  for (const { Properties } of Object.values(functions))
    expect(Properties.RuntimeManagementConfig).toEqual({ UpdateRuntimeOn: 'FunctionUpdate' });
});
