import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../../lambda/defined';
import * as setting from '../../lambda/setting';
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

/** The longest time that SQS hides a message: 12 hours from its receipt. */
export const LONGEST_VISIBILITY_S = 43_200;

/** The least receives that AWS advises before a message moves to the dead-letter queue. */
const LEAST_RECEIVES = 5;

/** The defaults and the ranges of {@link IngestSettings}. SQS keeps a message for 1 minute to 14 days. */
export const INGEST = {
  batchSize: setting.integer(10, 1, 10_000, "Lambda's limit for a standard queue"),
  batchWindow: setting.wholeSeconds(Duration.seconds(0), 0, 300, "Lambda's limit"),
  functionTimeout: setting.wholeSeconds(Duration.seconds(30), 1, 900, "Lambda's limit"),
  deadlineMargin: setting.duration(Duration.seconds(5), 0),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  maxConcurrency: setting.integer(undefined, 2, 1_000, "Lambda's limit for SQS"),
  reservedConcurrency: setting.integer(undefined, 1, 1_000_000),
  provisionedPollers: setting.free(undefined),
  visibilityTimeout: setting.wholeSeconds(undefined, 1, LONGEST_VISIBILITY_S, "SQS's limit, 12 hours"),
  maxReceiveCount: setting.integer(
    10,
    LEAST_RECEIVES,
    1_000,
    `AWS advises at least ${LEAST_RECEIVES}, since a throttled batch counts as received, and SQS allows 1,000`,
  ),
  retention: setting.wholeSeconds(Duration.days(1), 60, 1_209_600, "SQS's limits"),
  deadLetterRetention: setting.wholeSeconds(Duration.days(14), 60, 1_209_600, "SQS's limits"),
  expectedWritesPerSecond: setting.free<number>(500),
  writeParallelism: setting.integer(32, 1, 1_000),
  visibilityBase: setting.wholeSeconds(Duration.seconds(5), 1, LONGEST_VISIBILITY_S, "SQS's limit, 12 hours"),
  visibilityMax: setting.wholeSeconds(Duration.minutes(15), 1, LONGEST_VISIBILITY_S, "SQS's limit, 12 hours"),
  iotPresence: setting.free<boolean>(false),
} as const satisfies setting.Declarations<IngestSettings>;

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
  const settings = { ...setting.defaultsOf(INGEST), ...definedOf(given) };
  return {
    ...(given.provisionedPollers === undefined && { maxConcurrency: 10 }),
    visibilityTimeout: leastVisibility(settings.functionTimeout, settings.batchWindow),
    ...settings,
  };
}
