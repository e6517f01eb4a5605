import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../../lambda/defined';
import * as setting from '../../lambda/setting';
import { VISIBILITY_FACTOR } from '../../lambda/visibility';

/** Event pollers that Lambda reserves for the ingest queue (provisioned mode). They cost by the hour, used or not. */
export interface ProvisionedPollers {
  /** Minimum number of pollers: 2 to 200. One poller receives about 1 MB/s and has up to 10 concurrent batches. */
  readonly minimumPollers: number;
  /** Maximum number of pollers, under load: from {@link minimumPollers} to 10,000. */
  readonly maximumPollers: number;
}

/**
 * Sheds tasks before the first write in a storm: those for which the queue already holds as many tasks as can run
 * before they expire. Tasks with a key or a delay are always admitted. `docs/explanation/scaling.md#admission` explains
 * the rules.
 */
export interface AdmissionSettings {
  /**
   * Tasks that are admitted in a sustained storm, per task that the downstream can run: 1 to 100. With more, tasks start
   * a little earlier; with fewer, fewer old tasks are left to run after the storm.
   * @default 3
   */
  readonly factor?: number;
  /**
   * What a burst keeps. `complete` admits up to 120,000 tasks beyond the capacity, as many messages as SQS has in flight,
   * so that all of them that can run before they expire will run. `fresh` admits 10,000, which the table takes in ten
   * seconds, so that new tasks start immediately.
   * @default complete
   */
  readonly prefer?: 'complete' | 'fresh';
}

/**
 * An SQS standard queue in front of the task table: producers send to it at any rate, and `ingest-tasks` writes its
 * messages as tasks. `docs/explanation/scaling.md` explains how to choose the settings.
 */
export interface IngestSettings {
  /**
   * Maximum number of messages of one batch: 1 to 10,000. More than 10 need a {@link batchWindow} of at least 1 second.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * Time for which Lambda gathers messages before it invokes `ingest-tasks`: 0 to 300 s, whole seconds.
   * @default 0 seconds
   */
  readonly batchWindow?: Duration;
  /**
   * Timeout of `ingest-tasks`.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * Time between the end of the last write and the timeout of `ingest-tasks`: more than 1 second, for the report. SQS
   * redelivers the messages that are not written by then.
   * @default 5 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Memory of `ingest-tasks`, in MiB. Lambda gives processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Maximum number of concurrent invocations: 2 to 1,000. To limit them, use this setting and not a reserved concurrency: with
   * it Lambda receives no message that it cannot process immediately.
   * @default 10, or none with provisionedPollers
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency of `ingest-tasks`: at least {@link maxConcurrency}, or at least 5 without one. It reserves
   * concurrency of the account, so that the ingest never waits for other functions.
   * @default - none
   */
  readonly reservedConcurrency?: number;
  /**
   * Pollers reserved for this queue, for steep bursts. Not together with {@link maxConcurrency}.
   * @default - none: Lambda starts with 5 concurrent batches and adds up to 300 per minute
   */
  readonly provisionedPollers?: ProvisionedPollers;
  /**
   * Time for which SQS hides a received message: at least six times {@link functionTimeout} plus {@link batchWindow},
   * as AWS advises.
   * @default - six times functionTimeout plus batchWindow
   */
  readonly visibilityTimeout?: Duration;
  /**
   * How often a message is received before SQS moves it to the dead-letter queue: 5 to 1,000.
   * @default 10
   */
  readonly maxReceiveCount?: number;
  /**
   * Time after which SQS deletes a message that was not processed: 1 minute to 14 days.
   * @default 1 day
   */
  readonly retention?: Duration;
  /**
   * Time for which the dead-letter queue keeps a message, from when it was first sent: longer than {@link retention}.
   * @default 14 days
   */
  readonly deadLetterRetention?: Duration;
  /**
   * Tasks that one invocation writes per second, as you expect or measured. Synthesis uses it only to check that a
   * batch can be written within the timeout. The check counts one task per message: if your messages are arrays, divide
   * the rate by the tasks per message.
   * @default 500
   */
  readonly expectedWritesPerSecond?: number;
  /**
   * Concurrent writes of one invocation.
   * @default 32
   */
  readonly writeParallelism?: number;
  /**
   * Upper bound of the delay until SQS redelivers a message that could not be written, after its first receive. It
   * doubles with each receive. The delay is random, from half of the bound to the bound.
   * @default 5 seconds
   */
  readonly visibilityBase?: Duration;
  /**
   * Limit of this upper bound, after any receive. During a storm, a message that the table does not accept uses up a receive
   * within this time. So with a small limit, SQS soon moves it to the dead-letter queue, unless {@link maxReceiveCount} is
   * large.
   * @default 15 minutes
   */
  readonly visibilityMax?: Duration;
  /**
   * Whether each device that connects to AWS IoT Core in this account and region becomes a task. An IoT rule on the
   * lifecycle event sends the device's client id, address and time to the queue. If two queues in one account and
   * region set this, both get every device.
   * @default false
   */
  readonly iotPresence?: boolean;
  /**
   * Admission, for storms of many times the downstream's capacity: `{}` enables it with all defaults. The table then
   * takes three inserts per run instead of one per message. `ShedTasks` and `TasksNotAdmitted` count the other tasks.
   * @default - none; every task is written
   */
  readonly admission?: AdmissionSettings;
}

/** The longest time that SQS hides a message: 12 hours from its receipt. */
export const LONGEST_VISIBILITY_S = 43_200;

/** Minimum number of receives before a move to the dead-letter queue that AWS advises. */
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
  admission: setting.free(undefined),
} as const satisfies setting.Declarations<IngestSettings>;

/** The defaults and the ranges of {@link AdmissionSettings}. */
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

/** Minimum visibility timeout that AWS advises: six function timeouts plus the window, in whole seconds. */
export function leastVisibility(functionTimeout: Duration, batchWindow: Duration): Duration {
  const millis = VISIBILITY_FACTOR * functionTimeout.toMilliseconds() + batchWindow.toMilliseconds();
  return Duration.seconds(Math.ceil(millis / 1_000));
}

/** Fills in the defaults. An explicit `undefined` counts as not given. */
export function resolveIngestSettings(given: IngestSettings): ResolvedIngestSettings {
  const { admission, ...same } = given;
  const settings = { ...setting.defaultsOf(INGEST), ...definedOf(same) };
  return {
    ...(given.provisionedPollers === undefined && { maxConcurrency: 10 }),
    visibilityTimeout: leastVisibility(settings.functionTimeout, settings.batchWindow),
    ...settings,
    ...(admission && { admission: { ...setting.defaultsOf(ADMISSION), ...definedOf(admission) } }),
  };
}
