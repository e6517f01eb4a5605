import { Duration } from 'aws-cdk-lib';
import { StreamBatching } from '../../infra/tasks/settings/stream';
import { Synthesized } from './synthesis';

const withLoad = Synthesized.queue({ simulation: { load: { every: Duration.minutes(5), tasks: 20 } } });

describe("trigger's stream", () => {
  test('supports the BATCHED_10S preset', () => {
    const { Properties } = Synthesized.queue({ stream: StreamBatching.BATCHED_10S }).at('trigger/stream');
    expect(Properties).toMatchObject({
      BatchSize: 10,
      MaximumBatchingWindowInSeconds: 10,
      MaximumRetryAttempts: 5,
    });
  });

  test('uses the configured settings', () => {
    const stream = { batchSize: 10_000, batchWindow: Duration.seconds(300) };
    const { Properties } = Synthesized.queue({ stream }).at('trigger/stream');
    expect(Properties).toMatchObject({
      BatchSize: 10_000,
      MaximumBatchingWindowInSeconds: 300,
      MaximumRetryAttempts: 5,
      MaximumRecordAgeInSeconds: 600,
    });
  });
});

describe('schedules', () => {
  test('create simulated tasks if a load is configured', () => {
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
