import { Duration } from 'aws-cdk-lib';
import { StreamBatching } from '../../infra/tasks/settings/stream';
import { Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
const withLoad = Synthesized.queue({ simulation: { load: { every: Duration.minutes(5), tasks: 20 } } });

describe("trigger's stream", () => {
  const mapping = dev.at('trigger/stream');

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
