import { Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Alias, Key } from 'aws-cdk-lib/aws-kms';
import { type CfnTopic, type ITopic, Topic, TopicPolicy } from 'aws-cdk-lib/aws-sns';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, Synthesized } from './synthesis';

/** A stack per kind of queue, whose alarms publish to a topic. */
const ALARMED: [string, (stack: Stack, alarmTopic: ITopic) => unknown][] = [
  [
    'a task queue',
    (stack, alarmTopic) => new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), alarmTopic }),
  ],
  ["an agents' queue", (stack, alarmTopic) => new AgentQueue(stack, 'queue', { alarmTopic })],
];

test.each(ALARMED)('alarms of %s publish to the given topic', (_kind, add) => {
  const stack = new Stack(newApp(), 'test');
  add(stack, new Topic(stack, 'on-call'));
  const told = new Synthesized(stack);
  const alarms = told.all('AWS::CloudWatch::Alarm');
  expect(alarms.length).toBeGreaterThan(10);
  for (const { Properties } of alarms)
    expect(Properties.AlarmActions.map((action: unknown) => told.readable(action))).toEqual(['on-call']);
});

test('a queue prints a warning only if its alarms have no topic', () => {
  const unheard = expect.stringMatching(/alarms of this queue have no recipient.*set alarmTopic/);
  for (const queue of [Synthesized.queue(), Synthesized.agentQueue()]) {
    expect(queue.allWarnings()).toContainEqual(unheard);
  }
  const told = Synthesized.of((stack) => ({ alarmTopic: new Topic(stack, 'on-call') }));
  expect(told.allWarnings()).not.toContainEqual(unheard);
});

test.each(ALARMED)('alarms of %s can publish to a topic with its own policy', (_kind, add) => {
  const stack = new Stack(newApp(), 'test');
  const topic = new Topic(stack, 'on-call', { enforceSSL: true });
  add(stack, topic);
  const arn = stack.resolve(topic.topicArn);
  Template.fromStack(stack).hasResourceProperties('AWS::SNS::TopicPolicy', {
    Topics: [arn],
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({
          Effect: 'Allow',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
          Action: 'sns:Publish',
          Resource: arn,
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        }),
      ]),
    },
  });
});

test.each(ALARMED)('a FIFO topic is rejected for alarms of %s', (_kind, add) => {
  const stack = new Stack(newApp(), 'test');
  expect(() => add(stack, new Topic(stack, 'on-call', { fifo: true }))).toThrow(
    /alarmTopic: CloudWatch alarms cannot publish to a FIFO topic\. Remedy: use a standard topic/,
  );
});

const FROM_THIS_ACCOUNT = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } };

describe.each(ALARMED)('an alarm topic of %s', (_kind, add) => {
  /** Returns a new stack, and a function that synthesizes it after `later` with the queue and the topic. */
  function queueWith(topicOf: (stack: Stack) => ITopic, later?: (stack: Stack, topic: ITopic) => void) {
    const stack = new Stack(newApp(), 'test', { env: { account: '123456789012', region: 'eu-west-1' } });
    return () => {
      const topic = topicOf(stack);
      add(stack, topic);
      later?.(stack, topic);
      return new Synthesized(stack);
    };
  }
  const separatePolicy = (stack: Stack, topic: ITopic) =>
    new TopicPolicy(stack, 'policy', { topics: [topic], enforceSSL: true });

  test('lets CloudWatch publish by a separate policy', () => {
    const template = queueWith((stack) => {
      const topic = new Topic(stack, 'on-call');
      separatePolicy(stack, topic);
      return topic;
    })();
    const policies = template
      .all('AWS::SNS::TopicPolicy')
      .filter(({ Properties }) => template.readable(Properties.Topics[0]) === 'on-call');
    expect(policies).toHaveLength(1);
    expect(policies.flatMap((policy) => template.statements(policy))).toContainEqual(
      expect.objectContaining({
        effect: 'Allow',
        actions: ['sns:Publish'],
        principal: { Service: 'cloudwatch.amazonaws.com' },
      }),
    );
  });

  test('is rejected if a later policy does not let CloudWatch publish', () => {
    const topic = (stack: Stack) => new Topic(stack, 'on-call');
    expect(queueWith(topic, separatePolicy)).toThrow(
      /alarmTopic: the policy test\/policy\/Resource does not allow CloudWatch to publish.*Remedy: create the policy before the queue/,
    );
    const publishing = queueWith(topic, (stack, topic) =>
      separatePolicy(stack, topic).document.addStatements(
        new PolicyStatement({
          principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
          actions: ['SNS:Publish'],
          resources: [topic.topicArn],
        }),
      ),
    );
    expect(publishing).not.toThrow();
  });

  test('lets CloudWatch use the key of the topic', () => {
    const stack = new Stack(newApp(), 'test');
    add(stack, new Topic(stack, 'on-call', { masterKey: new Key(stack, 'key') }));
    const template = new Synthesized(stack);
    const [key] = template.all('AWS::KMS::Key');
    expect(key?.Properties.KeyPolicy.Statement).toContainEqual({
      Effect: 'Allow',
      Principal: { Service: 'cloudwatch.amazonaws.com' },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      Resource: '*',
      Condition: FROM_THIS_ACCOUNT,
    });
    expect(template.warnings()).toEqual([]);
  });

  test('with an imported key gets a warning that names the required actions', () => {
    const arn = 'arn:aws:kms:eu-west-1:123456789012:key/mine';
    const template = queueWith(
      (stack) => new Topic(stack, 'on-call', { masterKey: Key.fromKeyArn(stack, 'key', arn) }),
    )();
    expect(template.warnings()).toEqual([
      expect.stringMatching(/the key of the alarm topic is not part of this app.*kms:GenerateDataKey\*/),
    ]);
  });

  test.each<[string, (stack: Stack) => ITopic]>([
    [
      'as an alias',
      (stack) =>
        new Topic(stack, 'on-call', { masterKey: Alias.fromAliasName(stack, 'key', 'alias/aws/sns') }),
    ],
    [
      'as a template property',
      (stack) => {
        const topic = new Topic(stack, 'on-call');
        (topic.node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
        return topic;
      },
    ],
  ])('is rejected with the AWS managed key %s', (_how, topicOf) => {
    expect(queueWith(topicOf)).toThrow(
      /alarmTopic: the AWS managed key alias\/aws\/sns does not allow CloudWatch to publish.*Remedy: use your own KMS key/,
    );
  });

  test('is rejected if it gets the AWS managed key later', () => {
    const managed = queueWith(
      (stack) => new Topic(stack, 'on-call'),
      (_stack, { node }) => {
        (node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
      },
    );
    expect(managed).toThrow(/alarmTopic: the AWS managed key alias\/aws\/sns does not allow CloudWatch/);
  });

  test('is rejected in another region', () => {
    const imported = (region: string) => (stack: Stack) =>
      Topic.fromTopicArn(stack, 'on-call', `arn:aws:sns:${region}:123456789012:on-call`);
    expect(queueWith(imported('eu-west-1'))).not.toThrow();
    expect(queueWith(imported('us-east-1'))).toThrow(
      /alarmTopic: alarms in eu-west-1 cannot publish to a topic in us-east-1. Remedy: use a topic in eu-west-1/,
    );
  });
});
