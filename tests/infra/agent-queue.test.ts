import { Duration, Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { newApp, Synthesized } from './synthesis';

const prod = Synthesized.agents('prod');
const dev = Synthesized.agents('dev');
const FUNCTIONS = ['agent-desk', 'match-calls', 'sweep-agents'];

describe("the agents' table", () => {
  test('is on demand, keyed by pk and sk, with no index or stream; finished calls expire', () => {
    const { Properties } = prod.at('agent-table');
    expect(Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
    for (const absent of ['GlobalSecondaryIndexes', 'StreamSpecification'])
      expect(Properties[absent]).toBeUndefined();
  });

  test.each([prod, Synthesized.agents('staging'), Synthesized.agentQueue()])(
    'is protected in prod and staging, and unless told otherwise',
    (synthesized) => {
      const table = synthesized.at('agent-table');
      expect([table.DeletionPolicy, table.UpdateReplacePolicy]).toEqual(['Retain', 'Retain']);
      expect(table.Properties.DeletionProtectionEnabled).toBe(true);
      expect(table.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
    },
  );

  test('goes with its stack in dev', () => {
    const table = dev.at('agent-table');
    expect([table.DeletionPolicy, table.UpdateReplacePolicy]).toEqual(['Delete', 'Delete']);
    expect(table.Properties.DeletionProtectionEnabled).toBe(false);
  });
});

describe('the intake', () => {
  const INTAKE = 'call-intake/queue';
  const DEAD = 'call-intake/dead-letters';

  test('is a FIFO queue and its dead-letter queue, which keeps messages for 14 days', () => {
    for (const path of [INTAKE, DEAD]) {
      const queue = prod.at(path);
      expect(queue.Properties).toMatchObject({
        FifoQueue: true,
        ContentBasedDeduplication: false,
        SqsManagedSseEnabled: true,
        MessageRetentionPeriod: 14 * 24 * 60 * 60,
      });
      expect(queue.DeletionPolicy).toBe('RetainExceptOnCreate');
      expect(dev.at(path).DeletionPolicy).toBe('Delete');
    }
    const { DeduplicationScope, FifoThroughputLimit, RedrivePolicy, VisibilityTimeout } =
      prod.at(INTAKE).Properties;
    // High throughput needs both properties; CloudFormation rejects a queue with only one.
    expect([DeduplicationScope, FifoThroughputLimit]).toEqual(['messageGroup', 'perMessageGroupId']);
    expect(prod.readable(RedrivePolicy.deadLetterTargetArn)).toBe(`${DEAD}.Arn`);
    expect(RedrivePolicy.maxReceiveCount).toBe(16);
    expect(VisibilityTimeout).toBe(6 * prod.fn('match-calls').Timeout);
    expect(prod.at(DEAD).Properties.RedrivePolicy).toBeUndefined();
  });

  test('feeds match-calls, which answers for each message, without a window, which FIFO rejects', () => {
    const mapping = prod.at('match-calls/calls');
    expect(prod.readable(mapping.Properties.EventSourceArn)).toBe(`${INTAKE}.Arn`);
    expect(prod.readable(mapping.Properties.FunctionName)).toBe('match-calls/function');
    expect(mapping.Properties).toMatchObject({
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
    expect(mapping.Properties.MaximumBatchingWindowInSeconds).toBeUndefined();
    expect(mapping.Properties.ScalingConfig).toBeUndefined();
    expect(prod.all('AWS::Lambda::EventSourceMapping')).toHaveLength(1);
    const dependencies = mapping.DependsOn?.map((logicalId) => prod.readable({ Ref: logicalId }));
    expect(dependencies).toContain('match-calls/role/DefaultPolicy');
  });

  test('follows its typed settings', () => {
    const synthesized = Synthesized.agentQueue({
      calls: {
        batchSize: 1,
        maxConcurrency: 8,
        functionTimeout: Duration.seconds(10),
        memorySize: 512,
        maxReceiveCount: 3,
      },
    });
    expect(synthesized.at('match-calls/calls').Properties).toMatchObject({
      BatchSize: 1,
      ScalingConfig: { MaximumConcurrency: 8 },
    });
    expect(synthesized.fn('match-calls')).toMatchObject({ Timeout: 10, MemorySize: 512 });
    const { RedrivePolicy, VisibilityTimeout } = synthesized.at(INTAKE).Properties;
    expect([VisibilityTimeout, RedrivePolicy.maxReceiveCount]).toEqual([60, 3]);
  });
});

describe('assignments', () => {
  test('go to one encrypted topic that is TLS only and has no subscription yet', () => {
    expect(prod.all('AWS::SNS::Topic')).toHaveLength(1);
    const { KmsMasterKeyId, FifoTopic } = prod.at('assignment-topic').Properties;
    expect(KmsMasterKeyId).toBe('alias/aws/sns');
    expect(FifoTopic).toBeUndefined();
    expect(prod.statements(prod.at('assignment-topic/Policy'))).toEqual([
      expect.objectContaining({
        effect: 'Deny',
        actions: ['sns:Publish'],
        resources: ['assignment-topic'],
        conditions: { Bool: { 'aws:SecureTransport': 'false' } },
      }),
    ]);
    expect(prod.all('AWS::SNS::Subscription')).toEqual([]);
  });
});

describe('every queue', () => {
  test('is one for each function and schedule, and two for calls', () => {
    expect(prod.all('AWS::SQS::Queue')).toHaveLength(FUNCTIONS.length + 1 + 2);
  });

  test('is TLS only, encrypted and kept for 14 days', () => {
    const queues = prod.all('AWS::SQS::Queue');
    for (const { Properties } of queues) {
      expect(Properties.SqsManagedSseEnabled).toBe(true);
      expect(Properties.MessageRetentionPeriod).toBe(14 * 24 * 60 * 60);
    }
    const policies = prod.all('AWS::SQS::QueuePolicy');
    expect(policies).toHaveLength(queues.length);
    for (const policy of policies) {
      expect(prod.statements(policy)).toEqual([
        expect.objectContaining({
          effect: 'Deny',
          actions: ['sqs:*'],
          conditions: { Bool: { 'aws:SecureTransport': 'false' } },
        }),
      ]);
    }
  });
});

describe('the environment', () => {
  test('of every function names table, topic and dead-letter queue', () => {
    for (const name of FUNCTIONS) {
      const { AGENT_TABLE_NAME, ASSIGNMENT_TOPIC_ARN, CALL_DEAD_LETTER_QUEUE_URL } =
        prod.fn(name).Environment.Variables;
      expect(prod.readable(AGENT_TABLE_NAME)).toBe('agent-table');
      expect(prod.readable(ASSIGNMENT_TOPIC_ARN)).toBe('assignment-topic');
      expect(prod.readable(CALL_DEAD_LETTER_QUEUE_URL)).toBe('call-intake/dead-letters');
    }
    expect(prod.readable(prod.fn('match-calls').Environment.Variables.CALL_QUEUE_URL)).toBe(
      'call-intake/queue',
    );
  });

  test('follows every typed setting', () => {
    const synthesized = Synthesized.agentQueue({
      seed: true,
      agents: {
        order: 'lifo',
        dimensions: [
          { name: 'skill', attribute: 'Skills', multiValued: true },
          { name: 'site', attribute: 'Site', multiValued: false },
        ],
        callLease: Duration.hours(1),
      },
      calls: { maxWait: Duration.minutes(2) },
    });
    for (const name of FUNCTIONS) {
      expect(synthesized.settings(name)).toMatchObject({
        dimensions: [
          { name: 'skill', attribute: 'Skills', multiValued: true },
          { name: 'site', attribute: 'Site', multiValued: false },
        ],
        maxWaitMs: 120_000,
        order: 'lifo',
        callLeaseMs: 3_600_000,
        contentionWindow: 8,
        ...(name === 'agent-desk' && { seed: true }),
      });
    }
  });

  test.each([
    ['dev', true],
    ['staging', true],
    ['prod', false],
  ] as const)('of agent-desk in %s lets it make up agents: %s', (name, enabled) => {
    expect(Synthesized.agents(name).settings('agent-desk').seed).toBe(enabled);
  });
});

describe('retries and loops', () => {
  test.each(FUNCTIONS)('%s is not retried when it is invoked asynchronously, and may not loop', (name) => {
    expect(prod.at(`${name}/function/EventInvokeConfig`).Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
    expect(prod.fn(name).RecursiveLoop).toBeUndefined();
    expect(prod.fn(name).ReservedConcurrentExecutions).toBeUndefined();
  });
});

describe('the sweep', () => {
  test('comes every minute, ends before its next round, and has a role and a failure queue of its own', () => {
    const { Properties } = prod.at('sweep-agents/regularly/schedule');
    expect(Properties).toMatchObject({ ScheduleExpression: 'rate(1 minute)', State: 'ENABLED' });
    expect(prod.readable(Properties.Target.Arn)).toBe('sweep-agents/function.Arn');
    expect(prod.readable(Properties.Target.RoleArn)).toBe('sweep-agents/regularly/role.Arn');
    expect(prod.readable(Properties.Target.DeadLetterConfig.Arn)).toBe(
      'sweep-agents/regularly/undelivered.Arn',
    );
    expect(prod.fn('sweep-agents').Timeout).toBeLessThan(60);
    expect(prod.all('AWS::Scheduler::Schedule')).toHaveLength(1);
  });

  test('comes as often as it is set to', () => {
    const synthesized = Synthesized.agentQueue({ agents: { sweepInterval: Duration.minutes(5) } });
    const { ScheduleExpression } = synthesized.at('sweep-agents/regularly/schedule').Properties;
    expect(ScheduleExpression).toBe('rate(5 minutes)');
  });
});

test('a FIFO topic is rejected for alarms', () => {
  const stack = new Stack(newApp(), 'test');
  const alarmTopic = new Topic(stack, 'on-call', { fifo: true });
  expect(() => new AgentQueue(stack, 'queue', { alarmTopic })).toThrow(
    /alarmTopic: CloudWatch alarms cannot publish to a FIFO topic\. Remedy: use a standard topic/,
  );
});
