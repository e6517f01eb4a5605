import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../../lambda/defined';
import { VISIBILITY_FACTOR } from '../../lambda/visibility';

/** Event pollers that Lambda keeps ready for the ingest queue alone: provisioned mode, at a price by the hour. */
export interface ProvisionedPollers {
  /** Pollers that are always there: 2 to 200. One takes in about 1 MB/s and keeps up to 10 batches under way. */
  readonly minimumPollers: number;
  /** Pollers under load: at least {@link minimumPollers}, at most 10,000. */
  readonly maximumPollers: number;
}

/**
 * An SQS standard queue in front of the task table: producers send to it at any rate, and `ingest-tasks` writes its
 * messages as tasks. `docs/explanation/scaling.md` says how the settings combine.
 */
export interface IngestSettings {
  /**
   * The most messages of one invocation: 1 to 10,000. More than 10 need a {@link batchWindow} of a second.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * How long Lambda gathers messages before it invokes: 0 to 300 s, whole seconds.
   * @default 0 seconds
   */
  readonly batchWindow?: Duration;
  /**
   * Timeout of `ingest-tasks`.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * How long before its timeout `ingest-tasks` begins its last write; SQS redelivers the remaining messages.
   * @default 5 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Memory of `ingest-tasks`, MiB. Lambda gives processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * The most invocations at once: 2 to 1,000. This is the cap; it takes no message from the queue that it cannot
   * work on, unlike a reserved concurrency.
   * @default 10, or none with provisionedPollers
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency of `ingest-tasks`: at least {@link maxConcurrency}, or at least 5 without one. It sets
   * capacity of the account aside, for a queue that must never wait for other functions.
   * @default - none
   */
  readonly reservedConcurrency?: number;
  /**
   * Pollers of the queue's own, for steep bursts. Not together with {@link maxConcurrency}.
   * @default - none: Lambda starts with 5 batches at once and adds up to 300 a minute
   */
  readonly provisionedPollers?: ProvisionedPollers;
  /**
   * How long SQS hides a message that is being worked on: at least six times {@link functionTimeout} and
   * {@link batchWindow} on top, as AWS advises.
   * @default - exactly that
   */
  readonly visibilityTimeout?: Duration;
  /**
   * How often a message is received before SQS moves it to the dead-letter queue: 5 to 1,000.
   * @default 10
   */
  readonly maxReceiveCount?: number;
  /**
   * How long a message waits in the queue before SQS deletes it: 1 minute to 14 days.
   * @default 1 day
   */
  readonly retention?: Duration;
  /**
   * How long the dead-letter queue keeps a message, from when it was first sent: longer than {@link retention}.
   * @default 14 days
   */
  readonly deadLetterRetention?: Duration;
  /**
   * Tasks that one invocation writes in a second: only to check that a batch can be written within the timeout.
   * @default 500
   */
  readonly expectedWritesPerSecond?: number;
  /**
   * Writes that one invocation has under way at once.
   * @default 32
   */
  readonly writeParallelism?: number;
  /**
   * After which time what could not be written is visible again, at first; it doubles with each receive (jittered).
   * @default 5 seconds
   */
  readonly visibilityBase?: Duration;
  /**
   * The longest such time.
   * @default 15 minutes
   */
  readonly visibilityMax?: Duration;
  /**
   * Whether every device that connects to AWS IoT Core, in this account and region, becomes a task: an IoT rule on the
   * lifecycle event sends its client id, address and time to the queue. Two queues with it in one account and region
   * both get every device.
   * @default false
   */
  readonly iotPresence?: boolean;
}

/** `T`, where all but `K` is known. */
type RequiredExcept<T, K extends keyof T> = Required<Omit<T, K>> & Pick<T, K>;

/** Every setting of an ingest queue, defaults filled in. */
export type ResolvedIngestSettings = RequiredExcept<
  IngestSettings,
  'maxConcurrency' | 'reservedConcurrency' | 'provisionedPollers'
>;

/** The least visibility timeout that AWS advises: six function timeouts, and the window on top; whole seconds. */
export function leastVisibility(functionTimeout: Duration, batchWindow: Duration): Duration {
  const millis = VISIBILITY_FACTOR * functionTimeout.toMilliseconds() + batchWindow.toMilliseconds();
  return Duration.seconds(Math.ceil(millis / 1_000));
}

/** Fills in the defaults. An explicit `undefined` counts as not given. */
export function resolveIngestSettings(given: IngestSettings): ResolvedIngestSettings {
  const functionTimeout = given.functionTimeout ?? Duration.seconds(30);
  const batchWindow = given.batchWindow ?? Duration.seconds(0);
  return {
    batchSize: 10,
    deadlineMargin: Duration.seconds(5),
    memorySize: 256,
    ...(given.provisionedPollers === undefined && { maxConcurrency: 10 }),
    visibilityTimeout: leastVisibility(functionTimeout, batchWindow),
    maxReceiveCount: 10,
    retention: Duration.days(1),
    deadLetterRetention: Duration.days(14),
    expectedWritesPerSecond: 500,
    writeParallelism: 32,
    visibilityBase: Duration.seconds(5),
    visibilityMax: Duration.minutes(15),
    iotPresence: false,
    ...definedOf(given),
    functionTimeout,
    batchWindow,
  };
}
