import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  ENVIRONMENT_NAMES,
  ENVIRONMENTS,
  type Environment,
  type EnvironmentName,
} from '../../infra/environments/list';
import { chooseEnvironments, environmentProblems } from '../../infra/environments/rules';
import { AgentQueueStack } from '../../infra/stacks/agent-queue-stack';
import { LifoQueueStack } from '../../infra/stacks/lifo-queue-stack';
import { environment, KINDS, newApp, Synthesized } from './synthesis';

const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:quotes/token-a1B2c3';

function rejected(name: EnvironmentName, changes: Partial<Environment>): string[] {
  return environmentProblems({ ...environment(name), ...changes }).map(({ setting }) => setting);
}

describe('choosing', () => {
  test('every environment when none is named', () => {
    expect(chooseEnvironments(undefined).map(({ name }) => name)).toEqual(['dev', 'staging', 'prod']);
  });

  test.each(ENVIRONMENT_NAMES)('%s alone', (name) => {
    expect(chooseEnvironments(name)).toEqual([environment(name)]);
  });

  test.each(['qa', '', 'Prod', 7])('"%s" is rejected with the names there are', (name) => {
    expect(() => chooseEnvironments(name)).toThrow(
      /env: ".*" is not an environment\. Remedy: choose one of dev, staging, prod/,
    );
  });
});

describe('the committed environments', () => {
  test.each(ENVIRONMENT_NAMES)('%s breaks no rule', (name) => {
    expect(environmentProblems(environment(name))).toEqual([]);
  });

  test.each([
    ['dev', false],
    ['staging', true],
    ['prod', true],
  ] as const)('%s: termination protection %s', (name, protection) => {
    const app = newApp();
    const props = { environment: environment(name) };
    const stacks = [new LifoQueueStack(app, props), new AgentQueueStack(app, props)];
    expect(stacks.map(({ stackName }) => stackName)).toEqual([`LifoQueue-${name}`, `AgentQueue-${name}`]);
    const assembly = app.synth();
    for (const { stackName } of stacks)
      expect(assembly.getStackByName(stackName).terminationProtection).toBe(protection);
  });

  test('go to the account and region they name, or to those of the credentials', () => {
    const elsewhere = { ...environment('dev'), account: '123456789012', region: 'eu-central-1' };
    for (const placed of [
      new LifoQueueStack(newApp(), { environment: elsewhere }),
      new AgentQueueStack(newApp(), { environment: elsewhere }),
    ]) {
      expect([placed.account, placed.region]).toEqual(['123456789012', 'eu-central-1']);
    }
    for (const { synthesize } of KINDS)
      expect(synthesize('dev').stack.environment).toBe('aws://unknown-account/unknown-region');
  });

  test.each(['staging', 'prod'] as const)(
    "%s warns that its runner's address and the addressees of its alarms are not set",
    (name) => {
      const unheard = new RegExp(`the alarms of \\w+-${name} have no recipient, .*: set alarmEmails`);
      expect(Synthesized.environment(name).warnings()).toEqual([
        expect.stringMatching(/no task would run.*Set your own URL in infra\/environments\/list\.ts/),
        expect.stringMatching(unheard),
      ]);
      expect(Synthesized.agents(name).warnings()).toEqual([expect.stringMatching(unheard)]);
    },
  );

  test('an environment that says where its alarms go warns of nothing about them', () => {
    for (const where of [
      { alarmEmails: ['on-call@example.com'] },
      { alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' },
    ]) {
      const stack = new AgentQueueStack(newApp(), { environment: { ...environment('prod'), ...where } });
      expect(new Synthesized(stack).warnings()).toEqual([]);
    }
  });

  test('dev, which simulates, warns of nothing', () => {
    expect(Synthesized.environment('dev').warnings()).toEqual([]);
    expect(Synthesized.agents('dev').warnings()).toEqual([]);
  });
});

test.each<[string, EnvironmentName, Partial<Environment>, string]>([
  ['an account of eleven digits', 'dev', { account: '12345678901' }, 'dev.account'],
  ['a region that is none', 'dev', { region: 'Frankfurt' }, 'dev.region'],
  ['DESTROY with deletion protection', 'dev', { deletionProtection: true }, 'dev.removalPolicy'],
  ['prod without deletion protection', 'prod', { deletionProtection: false }, 'prod.deletionProtection'],
  [
    'prod without termination protection',
    'prod',
    { terminationProtection: false },
    'prod.deletionProtection',
  ],
  ['prod without point-in-time recovery', 'prod', { pointInTimeRecovery: false }, 'prod.deletionProtection'],
  ['prod that makes up tasks', 'prod', { simulation: {} }, 'prod.simulation'],
  ['prod that pretends', 'prod', { runner: { kind: 'simulated' } }, 'prod.runner'],
  [
    'an address in the clear',
    'staging',
    { runner: { kind: 'http', url: 'http://tasks.example.com' } },
    'staging.runner.url',
  ],
  [
    'a secret without its last characters',
    'prod',
    { runner: { kind: 'http', url: 'https://t.example.com', auth: { secretArn: SECRET.slice(0, -7) } } },
    'prod.runner.auth.secretArn',
  ],
  [
    "a header that is the runner's",
    'prod',
    {
      runner: { kind: 'http', url: 'https://t.example.com', auth: { secretArn: SECRET, headerName: 'Host' } },
    },
    'prod.runner.auth.name',
  ],
  [
    'a simulated capacity of none',
    'dev',
    { runner: { kind: 'simulated', capacity: 0 } },
    'dev.runner.capacity',
  ],
  [
    'settings that cannot work',
    'prod',
    { settings: { processing: { concurrency: 0 } } },
    'prod.processing.concurrency',
  ],
  ['a rate that is none', 'prod', { expectedTasksPerSecond: 0 }, 'prod.expectedTasksPerSecond'],
  ['an alarm topic that is none', 'prod', { alarmTopicArn: 'on-call' }, 'prod.alarmTopicArn'],
  [
    'a FIFO alarm topic',
    'prod',
    { alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call.fifo' },
    'prod.alarmTopicArn',
  ],
  [
    'an alarm topic elsewhere',
    'prod',
    { region: 'eu-central-1', alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' },
    'prod.alarmTopicArn',
  ],
  ['prod that makes up agents', 'prod', { agentQueue: { seed: true } }, 'prod.agentQueue.seed'],
  [
    "settings of the agents' queue that cannot work",
    'dev',
    { agentQueue: { seed: true, settings: { calls: { batchSize: 11 } } } },
    'dev.agentQueue.calls.batchSize',
  ],
  ["a tag of AWS's", 'prod', { tags: { 'aws:name': 'x' } }, 'prod.tags'],
  ['a tag with a sign that AWS does not take', 'dev', { tags: { owner: 'a&b' } }, 'dev.tags'],
  [
    'no cost center',
    'dev',
    { tags: { ...environment('dev').tags, 'cost-center': '' } },
    'dev.tags.cost-center',
  ],
  ["another environment's tag", 'dev', { tags: environment('prod').tags }, 'dev.tags.environment'],
  [
    'an address that is none',
    'prod',
    { alarmEmails: ['on-call@example.com', 'on-call'] },
    'prod.alarmEmails',
  ],
  [
    'addresses beside a topic',
    'prod',
    {
      alarmEmails: ['on-call@example.com'],
      alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call',
    },
    'prod.alarmEmails',
  ],
  ['a watch of seconds', 'prod', { rollbackWatch: Duration.seconds(90) }, 'prod.rollbackWatch'],
  ['a watch of a day', 'prod', { rollbackWatch: Duration.days(1) }, 'prod.rollbackWatch'],
])('rejected: %s', (_what, name, changes, setting) => {
  expect(rejected(name, changes)).toContain(setting);
});

test('every problem of every environment is named at once', () => {
  const broken = ENVIRONMENTS.map((each) => ({
    ...each,
    account: 'mine',
    settings: { stream: { batchSize: 0 } },
    removalPolicy: RemovalPolicy.DESTROY,
  }));
  const choose = () => chooseEnvironments('dev', broken);
  for (const name of ENVIRONMENT_NAMES) {
    expect(choose).toThrow(
      new RegExp(`${name}\\.account: "mine" is not the id of an AWS account\\. Remedy: `),
    );
    expect(choose).toThrow(new RegExp(`${name}\\.stream\\.batchSize: 0 is not a whole number`));
  }
  expect(choose).toThrow(/prod\.deletionProtection: prod lacks removalPolicy RETAIN/);
});

test('an environment may authenticate with a secret header', () => {
  const runner = {
    kind: 'http',
    url: 'https://t.example.com',
    auth: { secretArn: SECRET, headerName: 'X-Key' },
  } as const;
  const synthesized = new Synthesized(
    new LifoQueueStack(newApp(), { environment: { ...environment('prod'), runner } }),
  );
  expect(JSON.parse(synthesized.fn('process-tasks').Environment.Variables.TASK_RUNNER)).toEqual({
    kind: 'http',
    url: 'https://t.example.com',
    auth: { kind: 'header', name: 'X-Key', secretArn: SECRET },
  });
  expect(synthesized.policy('process-tasks/role')).toContainEqual({
    effect: 'Allow',
    actions: ['secretsmanager:GetSecretValue'],
    resources: [SECRET],
  });
});

test('an environment may name the topic of its alarms', () => {
  const told = { ...environment('prod'), alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' };
  expect(environmentProblems({ ...told, region: 'eu-west-1' })).toEqual([]);
  for (const stack of [
    new LifoQueueStack(newApp(), { environment: told }),
    new AgentQueueStack(newApp(), { environment: told }),
  ]) {
    const alarms = new Synthesized(stack).all('AWS::CloudWatch::Alarm');
    expect(alarms.length).toBeGreaterThan(0);
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toEqual([told.alarmTopicArn]);
  }
});

// Those of dev and staging differ from these as environment-differences.test.ts says.
test('the templates of prod are as they were reviewed', () => {
  expect(Synthesized.environment('prod').masked()).toMatchSnapshot('task queue');
  expect(Synthesized.agents('prod').masked()).toMatchSnapshot("agents' queue");
});
