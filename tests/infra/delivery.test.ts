import { Duration } from 'aws-cdk-lib';
import { StreamBatching } from '../../infra/tasks/settings/stream';
import { Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
const withLoad = Synthesized.queue({ simulation: { load: { every: Duration.minutes(5), tasks: 20 } } });

describe('topics', () => {
  test('are two, encrypted', () => {
    const topics = dev.all('AWS::SNS::Topic');
    expect(topics).toHaveLength(2);
    for (const { Properties } of topics) expect(Properties.KmsMasterKeyId).toBe('alias/aws/sns');
  });

  test.each(['trigger-topic', 'process-tasks-topic'])('%s is TLS only', (topic) => {
    const [statement, ...others] = dev.statements(dev.at(`${topic}/topic/Policy`));
    expect(others).toEqual([]);
    expect(statement).toMatchObject({
      effect: 'Deny',
      actions: ['sns:Publish'],
      resources: [`${topic}/topic`],
      principal: '*',
      conditions: { Bool: { 'aws:SecureTransport': 'false' } },
    });
  });

  test.each([
    ['trigger', 'trigger-topic'],
    ['process-tasks', 'process-tasks-topic'],
  ])('invoke %s with %s, and keep what could not be delivered', (fn, topic) => {
    const subscription = dev.at(`${fn}/function/topic`);
    expect(subscription.Properties.Protocol).toBe('lambda');
    expect(dev.readable(subscription.Properties.TopicArn)).toBe(`${topic}/topic`);
    expect(dev.readable(subscription.Properties.Endpoint)).toBe(`${fn}/function.Arn`);
    const { deadLetterTargetArn } = subscription.Properties.RedrivePolicy;
    expect(dev.readable(deadLetterTargetArn)).toBe(`${topic}/undelivered.Arn`);
    const fromSns = dev
      .statements(dev.at(`${topic}/undelivered/Policy`))
      .find(({ effect }) => effect === 'Allow');
    expect(fromSns).toMatchObject({
      actions: ['sqs:SendMessage'],
      principal: { Service: 'sns.amazonaws.com' },
      conditions: { ArnEquals: { 'aws:SourceArn': expect.anything() } },
    });
  });
});

describe('failure queues', () => {
  const queues = withLoad.all('AWS::SQS::Queue');
  const policies = withLoad.all('AWS::SQS::QueuePolicy');

  test('are one for each function, subscription and schedule', () => {
    expect(queues).toHaveLength(9);
  });

  test('are encrypted and keep messages for 14 days', () => {
    for (const { Properties } of queues) {
      expect(Properties.SqsManagedSseEnabled).toBe(true);
      expect(Properties.MessageRetentionPeriod).toBe(14 * 24 * 60 * 60);
    }
  });

  test('are TLS only', () => {
    expect(policies).toHaveLength(queues.length);
    for (const policy of policies) {
      expect(withLoad.statements(policy)).toContainEqual(
        expect.objectContaining({
          effect: 'Deny',
          actions: ['sqs:*'],
          principal: { AWS: '*' },
          conditions: { Bool: { 'aws:SecureTransport': 'false' } },
        }),
      );
    }
  });
});

describe("trigger's stream", () => {
  const mapping = dev.at('trigger/stream');

  test('reaches trigger from its beginning, with bounded retries, halved batches and a failure queue', () => {
    expect(dev.readable(mapping.Properties.EventSourceArn)).toBe('task-table/table.StreamArn');
    expect(dev.readable(mapping.Properties.FunctionName)).toBe('trigger/function');
    expect(dev.readable(mapping.Properties.DestinationConfig.OnFailure.Destination)).toBe(
      'trigger/failures.Arn',
    );
    expect(mapping.Properties).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 0,
      MaximumRetryAttempts: 5,
      MaximumRecordAgeInSeconds: 600,
      BisectBatchOnFunctionError: true,
    });
    expect(mapping.Properties.FunctionResponseTypes).toBeUndefined();
  });

  test('lets only new, pending tasks and new states of keys that do not run through', () => {
    const { Filters } = mapping.Properties.FilterCriteria;
    expect(Filters).toHaveLength(2);
    expect(JSON.parse(Filters[1].Pattern)).toEqual({
      eventName: ['MODIFY'],
      dynamodb: {
        NewImage: { taskStatus: { S: [{ prefix: 'PENDING' }] }, taskVersion: { S: [{ exists: true }] } },
        OldImage: {
          taskStatus: { S: [{ prefix: 'PENDING' }, { prefix: 'SUCCESS' }, { prefix: 'FAILURE' }] },
        },
      },
    });
    expect(JSON.parse(Filters[0].Pattern)).toEqual({
      eventName: ['INSERT'],
      dynamodb: { NewImage: { taskStatus: { S: [{ prefix: 'PENDING' }] } } },
    });
  });

  test('waits for the policy that lets trigger read it', () => {
    const dependencies = mapping.DependsOn?.map((logicalId) => dev.readable({ Ref: logicalId }));
    expect(dependencies).toContain('trigger/role/DefaultPolicy');
  });

  test('batches as the published sample does, by name', () => {
    const { Properties } = Synthesized.queue({ stream: StreamBatching.BATCHED_10S }).at('trigger/stream');
    expect(Properties).toMatchObject({
      BatchSize: 10,
      MaximumBatchingWindowInSeconds: 10,
      MaximumRetryAttempts: 5,
    });
  });

  test('takes typed settings', () => {
    const { Properties } = Synthesized.queue({
      stream: {
        batchSize: 10_000,
        batchWindow: Duration.seconds(300),
        retryAttempts: 0,
        maxRecordAge: Duration.minutes(1),
      },
    }).at('trigger/stream');
    expect(Properties).toMatchObject({
      BatchSize: 10_000,
      MaximumBatchingWindowInSeconds: 300,
      MaximumRetryAttempts: 0,
      MaximumRecordAgeInSeconds: 60,
    });
  });
});

test('the stream has the two readers that DynamoDB allows, and no third', () => {
  const readers = dev
    .all('AWS::Lambda::EventSourceMapping')
    .map(({ Properties }) => [
      dev.readable(Properties.EventSourceArn),
      dev.readable(Properties.FunctionName),
    ]);
  expect(readers.filter(([source]) => source !== 'ingest/queue.Arn').sort()).toEqual([
    ['task-table/table.StreamArn', 'count-shed/function'],
    ['task-table/table.StreamArn', 'trigger/function'],
  ]);
});

describe('schedules', () => {
  test('sweep every minute, with a role and a failure queue of their own', () => {
    const { Properties } = dev.at('sweep-tasks/every-minute/schedule');
    expect(Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: { RetryPolicy: { MaximumRetryAttempts: 1, MaximumEventAgeInSeconds: 60 } },
    });
    expect(dev.readable(Properties.Target.Arn)).toBe('sweep-tasks/function.Arn');
    expect(dev.readable(Properties.Target.RoleArn)).toBe('sweep-tasks/every-minute/role.Arn');
    expect(dev.readable(Properties.Target.DeadLetterConfig.Arn)).toBe(
      'sweep-tasks/every-minute/undelivered.Arn',
    );
  });

  test('make up no load unless asked', () => {
    expect(dev.all('AWS::Scheduler::Schedule')).toHaveLength(1);
  });

  test('make up a load when asked', () => {
    expect(withLoad.all('AWS::Scheduler::Schedule')).toHaveLength(2);
    const { Properties } = withLoad.at('create-tasks/load/schedule');
    expect(Properties.ScheduleExpression).toBe('rate(5 minutes)');
    expect(JSON.parse(Properties.Target.Input)).toEqual({ simulate: { count: 20 } });
    expect(withLoad.readable(Properties.Target.Arn)).toBe('create-tasks/function.Arn');
    expect(withLoad.readable(Properties.Target.DeadLetterConfig.Arn)).toBe(
      'create-tasks/load/undelivered.Arn',
    );
  });
});
