import { Duration } from 'aws-cdk-lib';
import { LONGEST_TIMEOUT_S } from '../../shared/ranges';
import * as setting from '../../shared/setting';
import { VISIBILITY_FACTOR } from '../../shared/visibility';

/** Event pollers that Lambda reserves for the ingest queue (provisioned mode). They are billed per hour, used or not. */
export interface ProvisionedPollers {
  /** Minimum number of pollers: 2 to 200. One poller receives about 1 MB/s and supports up to 10 concurrent batches. */
  readonly minimumPollers: number;
  /** Maximum number of pollers under load: from {@link minimumPollers} to 10,000. */
  readonly maximumPollers: number;
}

/**
 * Sheds tasks before the first write in a storm: those that arrive when the queue already holds as many tasks as can
 * run before they expire. Tasks with a key or a delay are always admitted. `docs/explanation/scaling.md#admission`
 * explains the rules.
 */
export interface AdmissionSettings {
  /**
   * Number of tasks admitted in a sustained storm per task that the downstream can run: 1 to 100. With a higher factor,
   * tasks start slightly earlier. With a lower one, fewer old tasks are left to run after the storm.
   * @default 3
   */
  readonly factor?: number;
  /**
   * Which tasks of a burst are kept. `complete` admits up to 120,000 tasks beyond the capacity, the number of messages
   * that SQS can have in flight, so that every task that can run before it expires does run. `fresh` admits 10,000,
   * which the table accepts in ten seconds, so that new tasks start immediately.
   * @default complete
   */
  readonly prefer?: 'complete' | 'fresh';
}

/**
 * An SQS standard queue in front of the task table. Producers send to it at any rate, and `ingest-tasks` writes its
 * messages to the table as tasks. `docs/explanation/scaling.md` explains how to choose the settings.
 */
export interface IngestSettings {
  /**
   * Maximum number of messages per batch: 1 to 10,000. More than 10 require a {@link batchWindow} of at least 1 second.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * How long Lambda gathers messages before it invokes `ingest-tasks`: 0 to 300 s, in whole seconds.
   * @default 0 seconds
   */
  readonly batchWindow?: Duration;
  /**
   * Timeout of `ingest-tasks`, which stops writing 5 s before. SQS redelivers messages that aren't written by then.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * A setting of the previous release, without effect: one value is right for every queue. Remove it.
   * @default 5 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Memory of `ingest-tasks`, in MiB. Lambda allocates CPU power in proportion to memory.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Maximum number of concurrent invocations: 2 to 1,000. Use this setting, not a reserved concurrency, to limit them:
   * with it, Lambda receives only messages that it can process immediately.
   * @default 10, or none with provisionedPollers
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency of `ingest-tasks`: at least {@link maxConcurrency}, or at least 5 without one. It reserves
   * part of the account's concurrency, so that ingest never waits for other functions.
   * @default - none
   */
  readonly reservedConcurrency?: number;
  /**
   * Pollers reserved for this queue, for steep bursts. Can't be combined with {@link maxConcurrency}.
   * @default - none: Lambda starts with 5 concurrent batches and adds up to 300 per minute
   */
  readonly provisionedPollers?: ProvisionedPollers;
  /**
   * A setting of the previous release, without effect: SQS hides a received message for as long as AWS recommends.
   * @default - six times functionTimeout plus batchWindow
   */
  readonly visibilityTimeout?: Duration;
  /**
   * Maximum number of receives before SQS moves a message to the dead-letter queue: 5 to 1,000.
   * @default 10
   */
  readonly maxReceiveCount?: number;
  /**
   * Time after which SQS deletes an unprocessed message: 1 minute to 14 days.
   * @default 1 day
   */
  readonly retention?: Duration;
  /**
   * How long the dead-letter queue keeps a message, counted from when it was first sent: longer than {@link retention}.
   * @default 14 days
   */
  readonly deadLetterRetention?: Duration;
  /**
   * Number of tasks that one invocation writes per second, expected or measured. Synthesis uses it only to check that a
   * batch can be written within the timeout. The check counts one task per message. If your messages are arrays, divide
   * the rate by the number of tasks per message.
   * @default 500
   */
  readonly expectedWritesPerSecond?: number;
  /**
   * Number of concurrent writes per invocation.
   * @default 32
   */
  readonly writeParallelism?: number;
  /**
   * Maximum delay until SQS redelivers a message that could not be written, after its first receive. The maximum
   * doubles with each receive. The actual delay is random, from half of the maximum to the maximum.
   * @default 5 seconds
   */
  readonly visibilityBase?: Duration;
  /**
   * Limit for the maximum delay set by {@link visibilityBase}, after any receive. During a storm, a message that the
   * table doesn't accept uses up a receive within this time. With a small limit, SQS soon moves the message to the
   * dead-letter queue, unless {@link maxReceiveCount} is large.
   * @default 15 minutes
   */
  readonly visibilityMax?: Duration;
  /**
   * Whether each device that connects to AWS IoT Core in this account and region becomes a task. An IoT rule for the
   * lifecycle event sends the device's client id, address and time to the queue. If two queues in one account and
   * region set this, both receive every device.
   * @default false
   */
  readonly iotPresence?: boolean;
  /**
   * Admission, for storms that far exceed the downstream's capacity. `{}` enables it with all defaults. The table then
   * gets three inserts per run instead of one per message. `ShedTasks` and `TasksNotAdmitted` count the other tasks.
   * @default - none; every task is written
   */
  readonly admission?: AdmissionSettings;
}

/** Maximum time for which SQS hides a message: 12 hours from its receipt. */
export const LONGEST_VISIBILITY_S = 43_200;

/** Minimum number of receives, recommended by AWS, before a message moves to the dead-letter queue. */
const LEAST_RECEIVES = 5;

/** Defaults and ranges of {@link IngestSettings}. SQS keeps a message for 1 minute to 14 days. */
export const INGEST = {
  batchSize: setting.integer(10, 1, 10_000, "Lambda's limit for a standard queue"),
  batchWindow: setting.wholeSeconds(Duration.seconds(0), 0, 300, "Lambda's limit"),
  functionTimeout: setting.wholeSeconds(
    Duration.seconds(30),
    6,
    LONGEST_TIMEOUT_S,
    `ingest-tasks writes until 5 s before its timeout, and ${LONGEST_TIMEOUT_S} s is the maximum of a function`,
  ),
  deadlineMargin: setting.former(Duration.seconds(5), 'it is 5 s'),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  maxConcurrency: setting.integer(10, 2, 1_000, "Lambda's limit for SQS"),
  reservedConcurrency: setting.integer(undefined, 1, 1_000_000),
  provisionedPollers: setting.free(undefined),
  visibilityTimeout: setting.former(undefined, 'it is six times functionTimeout plus batchWindow'),
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
  admission: setting.free(undefined),
} as const satisfies setting.Declarations<IngestSettings>;

/** Defaults and ranges of {@link AdmissionSettings}. */
export const ADMISSION = {
  factor: setting.integer(3, 1, 100),
  prefer: setting.free<'complete' | 'fresh'>('complete'),
} as const satisfies setting.Declarations<AdmissionSettings>;

/** Maximum number of tasks that admission holds, by preference. */
export const MOST_HELD = { complete: 120_000, fresh: 10_000 } as const;

/** All settings of an ingest queue, with the defaults filled in. */
export type ResolvedIngestSettings = setting.RequiredExcept<
  Omit<IngestSettings, 'admission'>,
  'maxConcurrency' | 'reservedConcurrency' | 'provisionedPollers'
> & { readonly admission?: Required<AdmissionSettings> };

/** Minimum visibility timeout recommended by AWS: six times the function timeout plus the window, in whole seconds. */
export function leastVisibility(functionTimeout: Duration, batchWindow: Duration): Duration {
  const millis = VISIBILITY_FACTOR * functionTimeout.toMilliseconds() + batchWindow.toMilliseconds();
  return Duration.seconds(Math.ceil(millis / 1_000));
}

/** Fills in the defaults. An explicit `undefined` is treated as omitted. */
export function resolveIngestSettings(given: IngestSettings): ResolvedIngestSettings {
  const { admission, ...same } = given;
  const settings = setting.withDefaults(INGEST, same);
  return {
    visibilityTimeout: leastVisibility(settings.functionTimeout, settings.batchWindow),
    ...settings,
    maxConcurrency: given.provisionedPollers === undefined ? settings.maxConcurrency : given.maxConcurrency,
    ...(admission && { admission: setting.withDefaults(ADMISSION, admission) }),
  };
}
