import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { ENVIRONMENTS, type Environment } from '../../infra/environments/list';
import { stackSuffix } from '../../infra/environments/names';
import { MOST_ROLLBACK_ALARMS, ROLLBACK_METADATA } from '../../infra/environments/rollback';
import { chooseEnvironments } from '../../infra/environments/rules';
import { bothStacks, environment, KINDS, newApp, Synthesized } from './synthesis';

/** An environment with only the required properties, as a user of this repository could add it. */
const LOADTEST: Environment = {
  ...environment('dev'),
  name: 'loadtest',
  tags: { ...environment('dev').tags, environment: 'loadtest' },
};

function rejections(name: unknown, personal: unknown, environments = ENVIRONMENTS): string {
  try {
    chooseEnvironments(name, environments, personal);
  } catch (rejection) {
    return String(rejection);
  }
  throw new Error('nothing was rejected');
}

describe('your own environment', () => {
  test('requires few properties and is selected by its name', () => {
    const [chosen] = chooseEnvironments('loadtest', [...ENVIRONMENTS, LOADTEST]);
    expect(chosen).toBe(LOADTEST);
    expect(bothStacks(LOADTEST)[0].stackName).toBe('LifoQueue-loadtest');
  });

  test.each(['Load', 'load-test', '1st', '', 'x'.repeat(21)])('cannot be named "%s"', (name) => {
    const own = { ...LOADTEST, name, tags: { ...LOADTEST.tags, environment: name } };
    expect(rejections(undefined, undefined, [...ENVIRONMENTS, own])).toContain(
      'is not a valid environment name',
    );
  });

  test("cannot have another environment's name", () => {
    expect(rejections(undefined, undefined, [...ENVIRONMENTS, environment('dev')])).toMatch(
      /dev\.name: two environments have the name "dev".*Remedy/,
    );
  });
});

describe('a personal stack', () => {
  const [alices] = chooseEnvironments('dev', ENVIRONMENTS, 'alice');

  test('is a copy of the environment with its own name and owner tag', () => {
    const stacks = bothStacks(alices as Environment);
    expect(stacks.map(({ stackName }) => stackName)).toEqual(['LifoQueue-dev-alice', 'AgentQueue-dev-alice']);
    const [table] = new Synthesized(stacks[0]).all('AWS::DynamoDB::Table');
    expect(table?.Properties.Tags).toContainEqual({ Key: 'owner', Value: 'alice' });
    expect(table?.Properties.TableName).toBeUndefined();
  });

  test('never has the name of another stack', () => {
    const all = [...ENVIRONMENTS, LOADTEST].flatMap((each) => [
      each,
      ...['a', 'dev', 'alice', 'dev-alice'].map((personal) => ({ ...each, personal })),
    ]);
    expect(new Set(all.map(stackSuffix)).size).toBe(all.length);
  });

  test.each(['Alice', 'alice-', '-alice', 'a b', '', 'x'.repeat(21), 7])('cannot be named "%s"', (name) => {
    expect(rejections('dev', name)).toContain('is not a valid personal stack name');
  });

  test.each(['staging', 'prod'])('is rejected in %s, where tables are retained', (name) => {
    expect(rejections(name, 'alice')).toContain(`${name} has no personal stacks`);
  });

  test('is rejected in prod regardless of removal policy, and if no environment is named', () => {
    const lax = { ...environment('prod'), removalPolicy: RemovalPolicy.DESTROY };
    expect(rejections('prod', 'alice', [lax])).toContain('prod has no personal stacks');
    expect(rejections(undefined, 'alice')).toContain('no environment is given');
  });
});

describe('addresses for alarms', () => {
  const told: Environment = { ...environment('prod'), alarmEmails: ['a@example.com', 'b@example.org'] };

  test.each([0, 1] as const)('receive every alarm through a topic of the stack (%d)', (which) => {
    const synthesized = new Synthesized(bothStacks(told)[which]);
    const subscriptions = synthesized
      .all('AWS::SNS::Subscription')
      .filter(({ Properties }) => Properties.Protocol === 'email');
    expect(subscriptions.map(({ Properties }) => Properties.Endpoint)).toEqual(told.alarmEmails);
    const [topic] = new Set(subscriptions.map(({ Properties }) => JSON.stringify(Properties.TopicArn)));
    for (const { Properties } of synthesized.all('AWS::CloudWatch::Alarm')) {
      expect(Properties.AlarmActions.map((action: unknown) => JSON.stringify(action))).toEqual([topic]);
    }
  });

  test('use a topic and a key that CloudWatch can use for this account only', () => {
    const { template } = new Synthesized(bothStacks(told)[0]);
    const ours = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } };
    const cloudWatchMay = (actions: string | string[]) =>
      Match.arrayWith([
        Match.objectLike({
          Action: actions,
          Condition: ours,
          Effect: 'Allow',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
        }),
      ]);
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: Match.objectLike({ Statement: cloudWatchMay('sns:Publish') }),
    });
    template.hasResourceProperties('AWS::KMS::Key', {
      EnableKeyRotation: true,
      KeyPolicy: Match.objectLike({ Statement: cloudWatchMay(['kms:Decrypt', 'kms:GenerateDataKey*']) }),
    });
  });

  test('cause no cdk-nag findings', () => {
    const app = newApp();
    bothStacks(told, app);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    expect(() => app.synth()).not.toThrow();
  });
});

const WATCHED = KINDS.flatMap(({ kind, synthesize }) =>
  ['staging', 'prod'].map((name) => ({ kind, name, synthesize })),
);

describe('the rollback alarms', () => {
  test.each(WATCHED)('of $kind-$name are in its template and within the limit', ({ name, synthesize }) => {
    const synthesized = synthesize(name);
    const { Metadata, Resources } = synthesized.template.toJSON();
    const { alarms, minutes } = Metadata[ROLLBACK_METADATA];
    expect(alarms.length).toBeGreaterThan(0);
    expect(alarms.length).toBeLessThanOrEqual(MOST_ROLLBACK_ALARMS);
    for (const logicalId of alarms) expect(Resources[logicalId].Type).toBe('AWS::CloudWatch::Alarm');
    expect(minutes).toBe(environment(name).rollbackWatch.toMinutes());
    expect(minutes).toBeGreaterThan(0);
  });

  test.each(WATCHED)('of $kind-$name fire within the rollback watch', ({ name, synthesize }) => {
    const { Metadata, Resources } = synthesize(name).template.toJSON();
    const { alarms, minutes } = Metadata[ROLLBACK_METADATA];
    for (const id of alarms) {
      const { Period, EvaluationPeriods, Metrics, TreatMissingData } = Resources[id].Properties;
      const queried = (Metrics ?? []).map(
        ({ MetricStat }: { MetricStat?: { Period: number } }) => MetricStat?.Period,
      );
      const periods = [Period, ...queried].filter((period) => period !== undefined);
      const takes = Math.max(...periods) * EvaluationPeriods;
      // CloudWatch receives a metric after at most three minutes and evaluates it within the next minute.
      expect([id, takes / 60 + 3 + 1 <= minutes]).toEqual([id, true]);
      expect(TreatMissingData).toBe('notBreaching');
    }
  });

  test('do not evaluate queue depth, which SQS can publish 15 minutes late', () => {
    for (const { synthesize } of KINDS) {
      const { Metadata, Resources } = synthesize('prod').template.toJSON();
      for (const id of Metadata[ROLLBACK_METADATA].alarms)
        expect(JSON.stringify(Resources[id].Properties)).not.toContain('ApproximateNumberOfMessages');
    }
  });

  test.each([
    [0, 0],
    [1, 1],
    [6, 1],
    [7, 0],
  ])('a watch of %s minutes causes %s warnings', (minutes, count) => {
    const watched = { ...environment('dev'), rollbackWatch: Duration.minutes(minutes) };
    for (const stack of bothStacks(watched)) {
      const warnings = new Synthesized(stack).warnings().filter((text) => text.includes('rollbackWatch'));
      expect(warnings).toHaveLength(count);
    }
  });
});
