import { Duration, Stack } from 'aws-cdk-lib';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, type Resource, Synthesized } from './synthesis';

const { seconds, minutes, days } = Duration;
const plain = Synthesized.queue({ ingest: {} });
const queue = (synthesized = plain): Resource => synthesized.at('ingest/queue');
const deadLetters = (synthesized = plain): Resource => synthesized.at('ingest/dead-letters');
const mapping = (synthesized = plain): Resource => synthesized.at('ingest-tasks/messages');

test('there is no ingest queue by default', () => {
  const without = Synthesized.queue();
  expect(() => without.at('ingest/queue')).toThrow(/no resource/);
  expect(() => without.fn('ingest-tasks')).toThrow(/no resource/);
});

describe('the ingest queue', () => {
  test('has a visibility timeout of six function timeouts plus the window', () => {
    expect(queue().Properties.VisibilityTimeout).toBe(180);
    const gathering = Synthesized.queue({
      ingest: { functionTimeout: minutes(2), batchWindow: seconds(7) },
    });
    expect(queue(gathering).Properties.VisibilityTimeout).toBe(727);
  });

  test('is the only queue that can use its dead-letter queue', () => {
    const { redrivePermission, sourceQueueArns } = deadLetters().Properties.RedriveAllowPolicy;
    expect(redrivePermission).toBe('byQueue');
    expect(sourceQueueArns).toHaveLength(1);
    const [prefix, guid] = queue().Properties.QueueName['Fn::Join'][1];
    const arn: unknown[] = sourceQueueArns[0]['Fn::Join'][1];
    expect(arn[0]).toBe('arn:');
    expect(arn.at(-2)).toMatch(new RegExp(`:${prefix}$`));
    expect(arn.at(-1)).toEqual(guid);
  });

  test('has a name that is unique across queues and stacks', () => {
    const [prefix, guid] = queue().Properties.QueueName['Fn::Join'][1];
    expect(guid).toEqual({ 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] });
    // SQS allows 80 characters, and the stack's identifier has 36.
    expect(prefix.length).toBeLessThanOrEqual(80 - 36);
    const stack = new Stack(newApp(), 'a-stack-with-a-name-that-is-rather-long'.repeat(3));
    for (const id of ['first', 'second'])
      new LifoQueue(stack, id, { runner: TaskRunner.simulated(), ingest: {} });
    const names = new Synthesized(stack)
      .all('AWS::SQS::Queue')
      .map(({ Properties }) => Properties.QueueName)
      .filter((name) => name !== undefined)
      .map((name) => name['Fn::Join'][1][0]);
    expect(new Set(names).size).toBe(2);
    for (const each of names) expect(each).toMatch(/^[\w-]{1,44}$/);
  });
});

test('the mapping supports more provisioned pollers than the CDK allows and sets no maximum concurrency', () => {
  const { Properties } = mapping(
    Synthesized.queue({
      ingest: { provisionedPollers: { minimumPollers: 200, maximumPollers: 10_000 } },
    }),
  );
  expect(Properties.ProvisionedPollerConfig).toEqual({ MinimumPollers: 200, MaximumPollers: 10_000 });
  expect(Properties.ScalingConfig).toBeUndefined();
});

test('the function, the mapping and the queues use the configured settings', () => {
  const synthesized = Synthesized.queue({
    ingest: {
      batchSize: 1_000,
      batchWindow: seconds(2),
      functionTimeout: minutes(1),
      memorySize: 512,
      maxConcurrency: 40,
      reservedConcurrency: 50,
      maxReceiveCount: 20,
      retention: days(2),
      deadLetterRetention: days(7),
      expectedWritesPerSecond: 50,
    },
  });
  const fn = synthesized.fn('ingest-tasks');
  expect(fn).toMatchObject({ Timeout: 60, MemorySize: 512, ReservedConcurrentExecutions: 50 });
  expect(mapping(synthesized).Properties).toMatchObject({
    BatchSize: 1_000,
    MaximumBatchingWindowInSeconds: 2,
    ScalingConfig: { MaximumConcurrency: 40 },
  });
  expect(queue(synthesized).Properties).toMatchObject({
    VisibilityTimeout: 362,
    MessageRetentionPeriod: 172_800,
    RedrivePolicy: { maxReceiveCount: 20 },
  });
  expect(deadLetters(synthesized).Properties.MessageRetentionPeriod).toBe(7 * 86_400);
});
