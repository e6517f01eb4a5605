import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ENVIRONMENT_NAMES, ENVIRONMENTS, type Environment } from '../../infra/environments/list';
import { chooseEnvironments, environmentProblems } from '../../infra/environments/rules';
import { bothStacks, environment, KINDS, newApp, Synthesized } from './synthesis';

const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:quotes/token-a1B2c3';

describe('choosing', () => {
  test('selects every environment if none is named', () => {
    expect(chooseEnvironments(undefined).map(({ name }) => name)).toEqual(['dev', 'staging', 'prod']);
  });

  test.each(ENVIRONMENT_NAMES)('selects only %s', (name) => {
    expect(chooseEnvironments(name)).toEqual([environment(name)]);
  });

  test.each(['qa', '', 'Prod', 7])('rejects "%s" and lists the valid names', (name) => {
    expect(() => chooseEnvironments(name)).toThrow(
      /env: ".*" is not an environment\. Remedy: choose one of dev, staging, prod/,
    );
  });
});

describe('the committed environments', () => {
  test.each(ENVIRONMENT_NAMES)('%s is valid', (name) => {
    expect(environmentProblems(environment(name))).toEqual([]);
  });

  test.each([
    ['dev', false],
    ['staging', true],
    ['prod', true],
  ] as const)('%s: termination protection %s', (name, protection) => {
    const app = newApp();
    const stacks = bothStacks(environment(name), app);
    expect(stacks.map(({ stackName }) => stackName)).toEqual([`LifoQueue-${name}`, `AgentQueue-${name}`]);
    const assembly = app.synth();
    for (const { stackName } of stacks)
      expect(assembly.getStackByName(stackName).terminationProtection).toBe(protection);
  });

  test('use the configured account and region, or those of the credentials', () => {
    const elsewhere = { ...environment('dev'), account: '123456789012', region: 'eu-central-1' };
    for (const placed of bothStacks(elsewhere)) {
      expect([placed.account, placed.region]).toEqual(['123456789012', 'eu-central-1']);
    }
    for (const { synthesize } of KINDS)
      expect(synthesize('dev').stack.environment).toBe('aws://unknown-account/unknown-region');
  });

  test.each(['staging', 'prod'] as const)(
    '%s prints warnings about its placeholder runner URL and its missing alarm recipients',
    (name) => {
      const unheard = new RegExp(`the alarms of \\w+-${name} have no recipient, .*: set alarmEmails`);
      expect(Synthesized.environment(name).warnings()).toEqual([
        expect.stringMatching(/no task would run.*Set your own URL in infra\/environments\/list\.ts/),
        expect.stringMatching(unheard),
      ]);
      expect(Synthesized.agents(name).warnings()).toEqual([expect.stringMatching(unheard)]);
    },
  );

  test('an environment with alarm recipients prints no warning', () => {
    for (const where of [
      { alarmEmails: ['on-call@example.com'] },
      { alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' },
    ]) {
      expect(Synthesized.agents('prod', where).warnings()).toEqual([]);
    }
  });

  test('dev prints no warning about its simulated runner', () => {
    expect(Synthesized.environment('dev').warnings()).toEqual([]);
    expect(Synthesized.agents('dev').warnings()).toEqual([]);
  });
});

test.each<[string, string, Partial<Environment>]>([
  ['an account of eleven digits', 'dev.account', { account: '12345678901' }],
  ['an invalid region', 'dev.region', { region: 'Frankfurt' }],
  ['DESTROY with deletion protection', 'dev.removalPolicy', { deletionProtection: true }],
  ['prod without deletion protection', 'prod.deletionProtection', { deletionProtection: false }],
  ['prod without termination protection', 'prod.deletionProtection', { terminationProtection: false }],
  ['prod without point-in-time recovery', 'prod.deletionProtection', { pointInTimeRecovery: false }],
  ['prod with simulated tasks', 'prod.simulation', { simulation: {} }],
  ['prod with a simulated runner', 'prod.runner', { runner: { kind: 'simulated' } }],
  [
    'an HTTP runner URL without TLS',
    'staging.runner.url',
    { runner: { kind: 'http', url: 'http://tasks.example.com' } },
  ],
  [
    'a secret ARN without its suffix',
    'prod.runner.auth.secretArn',
    { runner: { kind: 'http', url: 'https://t.example.com', auth: { secretArn: SECRET.slice(0, -7) } } },
  ],
  [
    "a header that is the runner's",
    'prod.runner.auth.name',
    {
      runner: { kind: 'http', url: 'https://t.example.com', auth: { secretArn: SECRET, headerName: 'Host' } },
    },
  ],
  ['a simulated capacity of zero', 'dev.runner.capacity', { runner: { kind: 'simulated', capacity: 0 } }],
  [
    'invalid task queue settings',
    'prod.processing.concurrency',
    { settings: { processing: { concurrency: 0 } } },
  ],
  ['a rate of zero', 'prod.expectedTasksPerSecond', { expectedTasksPerSecond: 0 }],
  ['an invalid alarm topic ARN', 'prod.alarmTopicArn', { alarmTopicArn: 'on-call' }],
  [
    'a FIFO alarm topic',
    'prod.alarmTopicArn',
    { alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call.fifo' },
  ],
  [
    'an alarm topic in another region',
    'prod.alarmTopicArn',
    { region: 'eu-central-1', alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' },
  ],
  ['prod with sample agents', 'prod.agentQueue.seed', { agentQueue: { seed: true } }],
  [
    "invalid settings of the agents' queue",
    'dev.agentQueue.calls.batchSize',
    { agentQueue: { seed: true, settings: { calls: { batchSize: 11 } } } },
  ],
  ["a tag of AWS's", 'prod.tags', { tags: { 'aws:name': 'x' } }],
  ['a tag with an invalid character', 'dev.tags', { tags: { owner: 'a&b' } }],
  ['no cost center', 'dev.tags.cost-center', { tags: { ...environment('dev').tags, 'cost-center': '' } }],
  ["another environment's tag", 'dev.tags.environment', { tags: environment('prod').tags }],
  ['an invalid email address', 'prod.alarmEmails', { alarmEmails: ['on-call@example.com', 'on-call'] }],
  [
    'email addresses with a topic ARN',
    'prod.alarmEmails',
    {
      alarmEmails: ['on-call@example.com'],
      alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call',
    },
  ],
  ['a watch of 90 seconds', 'prod.rollbackWatch', { rollbackWatch: Duration.seconds(90) }],
  ['a watch of a day', 'prod.rollbackWatch', { rollbackWatch: Duration.days(1) }],
])('rejected: %s', (_what, setting, changes) => {
  const [name = ''] = setting.split('.');
  const problems = environmentProblems({ ...environment(name), ...changes });
  expect(problems.map((problem) => problem.setting)).toContain(setting);
});

test('the error lists every problem with every environment', () => {
  const broken = ENVIRONMENTS.map((each) => ({
    ...each,
    account: 'mine',
    settings: { stream: { batchSize: 0 } },
    removalPolicy: RemovalPolicy.DESTROY,
  }));
  const choose = () => chooseEnvironments('dev', broken);
  for (const name of ENVIRONMENT_NAMES) {
    expect(choose).toThrow(new RegExp(`${name}\\.account: "mine" is not an AWS account ID\\. Remedy: `));
    expect(choose).toThrow(new RegExp(`${name}\\.stream\\.batchSize: 0 is not a whole number`));
  }
  expect(choose).toThrow(/prod\.deletionProtection: prod lacks removalPolicy RETAIN/);
});

test('an environment can authenticate with a secret header', () => {
  const runner = {
    kind: 'http',
    url: 'https://t.example.com',
    auth: { secretArn: SECRET, headerName: 'X-Key' },
  } as const;
  const synthesized = Synthesized.environment('prod', { runner });
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

test('an environment can name its alarm topic', () => {
  const told = { ...environment('prod'), alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' };
  expect(environmentProblems({ ...told, region: 'eu-west-1' })).toEqual([]);
  for (const stack of bothStacks(told)) {
    const alarms = new Synthesized(stack).all('AWS::CloudWatch::Alarm');
    expect(alarms.length).toBeGreaterThan(0);
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toEqual([told.alarmTopicArn]);
  }
});

// The dev and staging templates differ from these as listed in environment-differences.test.ts.
test('the templates of prod are as they were reviewed', () => {
  expect(Synthesized.environment('prod').masked()).toMatchSnapshot('task queue');
  expect(Synthesized.agents('prod').masked()).toMatchSnapshot("agents' queue");
});
