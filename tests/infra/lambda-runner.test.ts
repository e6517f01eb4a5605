import { Duration, Stack } from 'aws-cdk-lib';
import {
  type CfnFunction,
  type CfnFunctionProps,
  Code,
  type IFunction,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import type { ITaskRunner } from '../../infra/tasks/runners/binding';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { resolveSettings } from '../../infra/tasks/settings';
import { newApp, Synthesized } from './synthesis';

const SETTINGS = resolveSettings({});

function rejected(runner: ITaskRunner): string[] {
  return runner._problems(SETTINGS).map(({ setting }) => setting);
}

function userFunction(stack: Stack, timeout?: Duration): LambdaFunction {
  return new LambdaFunction(stack, 'work', {
    runtime: Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => ({})'),
    timeout,
  });
}

/** Returns the resources that the runner allows process-tasks to invoke. */
function invocable(synthesized: Synthesized): string[] {
  const statements = synthesized.policy('process-tasks/role');
  return statements
    .filter(({ actions }) => actions.includes('lambda:InvokeFunction'))
    .flatMap(({ resources }) => resources);
}

const PROVIDER = {
  lambdaManagedInstancesCapacityProviderConfig: {
    capacityProviderArn: 'arn:aws:lambda:eu-west-1:123456789012:capacity-provider:mine',
  },
};

test('allows invoking only the given function', () => {
  const synthesized = Synthesized.of((stack) => ({ runner: TaskRunner.lambda(userFunction(stack)) }));
  expect(invocable(synthesized)).toEqual(['work.Arn']);
  const { TASK_RUNNER } = synthesized.fn('process-tasks').Environment.Variables;
  expect(JSON.parse(synthesized.readable(TASK_RUNNER))).toEqual({
    kind: 'lambda',
    functionArn: 'work.Arn',
  });
});

test('accepts an alias', () => {
  const runner = (stack: Stack) => TaskRunner.lambda(userFunction(stack).addAlias('live'));
  expect(invocable(Synthesized.of((stack) => ({ runner: runner(stack) })))).toEqual([
    expect.stringMatching(/Aliaslive/),
  ]);
});

test('rejects a function whose timeout exceeds the task timeout', () => {
  const stack = new Stack(newApp(), 'test');
  const [problem] = TaskRunner.lambda(userFunction(stack, Duration.seconds(31)))._problems(SETTINGS);
  expect(problem?.rule).toMatch(/may run for 31000 ms, longer than the task timeout of 30000 ms/);
  expect(problem?.remedy).toMatch(/at least 31000 ms/);
});

test.each<[string, (fn: LambdaFunction) => IFunction]>([
  ['an alias', (fn) => fn.addAlias('live')],
  ['a version', (fn) => fn.currentVersion],
])('rejects %s of a function whose timeout exceeds the task timeout', (_kind, qualified) => {
  const fn = userFunction(new Stack(newApp(), 'test'), Duration.seconds(31));
  expect(rejected(TaskRunner.lambda(qualified(fn)))).toEqual(['runner']);
});

test.each<[string, Partial<CfnFunctionProps>, RegExp]>([
  ['with tenant isolation', { tenancyConfig: { tenantIsolationMode: 'PER_TENANT' } }, /requires a tenant id/],
  ['that is durable', { durableConfig: { executionTimeout: 60 } }, /continues after its invocation/],
  [
    'with a capacity provider but without a version',
    { capacityProviderConfig: PROVIDER },
    /published versions/,
  ],
])('rejects a function %s', (_kind, config, rule) => {
  const fn = userFunction(new Stack(newApp(), 'test'));
  Object.assign(fn.node.defaultChild as CfnFunction, config);
  const [problem, ...others] = TaskRunner.lambda(fn)._problems(SETTINGS);
  expect(problem?.rule).toMatch(rule);
  expect(others).toEqual([]);
});

test('accepts a version of a function with a capacity provider', () => {
  const fn = userFunction(new Stack(newApp(), 'test'));
  (fn.node.defaultChild as CfnFunction).capacityProviderConfig = PROVIDER;
  expect(rejected(TaskRunner.lambda(fn.currentVersion))).toEqual([]);
});

test('rejects a function in another region', () => {
  const stack = new Stack(newApp(), 'test', { env: { region: 'eu-west-1' } });
  const imported = (region: string) => {
    const arn = `arn:aws:lambda:${region}:123456789012:function:work`;
    const runner = TaskRunner.lambda(LambdaFunction.fromFunctionArn(stack, region, arn));
    return () => new LifoQueue(stack, `queue-${region}`, { runner });
  };
  expect(imported('eu-west-1')).not.toThrow();
  expect(imported('us-east-1')).toThrow(
    /runner: process-tasks in eu-west-1 cannot invoke a function in us-east-1\. Remedy: use a function in eu-west-1/,
  );
});

test('accepts a function whose timeout equals the task timeout', () => {
  const stack = new Stack(newApp(), 'test');
  expect(rejected(TaskRunner.lambda(userFunction(stack, Duration.seconds(30))))).toEqual([]);
});
