import { Duration } from 'aws-cdk-lib';
import { type Problem, problemIf } from '../../lambda/problem';
import * as setting from '../../lambda/setting';

/**
 * The circuit breaker. Most often it opens when `max(10, concurrency + 2)` distinct tasks found the downstream
 * unavailable (5xx, no connection, no response in time), with no success or failure in between. While it is open, only
 * probes start, one at a time, and no task loses an attempt. The first success or failure closes it.
 * `docs/explanation/circuit-breaker.md` has the other cases.
 */
export interface BreakerSettings {
  /**
   * Whether there is a circuit breaker. Without one, tasks lose attempts while the downstream is unavailable.
   * @default true
   */
  readonly enabled?: boolean;
  /**
   * Time for which the breaker is open before a failed probe pauses the queue for {@link ProcessingSettings.pause}. The
   * turn after the pause starts with one probe. Whole seconds, shorter than {@link ProcessingSettings.maxIdleTurns} ×
   * {@link ProcessingSettings.turn}, after which the tail calls end.
   * @default - 8 minutes, or 80 % of maxIdleTurns × turn if that is shorter
   */
  readonly pauseAfter?: Duration;
}

/**
 * A bound on the age of tasks that start under overload. A task is new until its age is twice {@link target}. The queue
 * is overloaded when new tasks were due throughout one {@link interval}. Then only new tasks and redriven tasks start;
 * older tasks cost no reads and expire as usual. The overload ends when, for the time {@link target}, slots were free
 * and no new task was pending. The age of retried and delayed tasks counts from their creation, too.
 */
export interface CodelSettings {
  /**
   * Half of the age up to which tasks start under overload: 1 ms or more. Choose a time longer than tasks wait while
   * the queue keeps up.
   */
  readonly target: Duration;
  /**
   * Time for which new tasks must have been due before the queue is overloaded: at least twice {@link target}, shorter
   * than {@link ProcessingSettings.turn}. Choose several times the duration of a typical run.
   */
  readonly interval: Duration;
}

/** The order in which tasks start: see {@link ProcessingSettings.order}. */
export type TaskOrder = 'newest-first' | 'oldest-key-first';

/**
 * Limits of each group of tasks. `freshq limit --group` replaces them for a single group. A group that reached a limit is
 * closed: its tasks are not due, and tasks of other groups start. With a limit or a breaker, a busy response with
 * `Retry-After` also closes only the group of its task, until that time.
 */
export interface GroupSettings {
  /**
   * Maximum number of tasks of a group that run concurrently, even across crashes. After a crash of the processor, groups
   * with this limit wait until the tasks that may still run are counted.
   * @default - no limit but {@link ProcessingSettings.concurrency}
   */
  readonly maxConcurrency?: number;
  /**
   * Maximum number of tasks of a group that start per second, on average. Decimals are allowed (0.5: one in two
   * seconds). After a time without starts, as many may start immediately as in one second, and at least one.
   * @default - no limit but {@link ProcessingSettings.ratePerSecond}
   */
  readonly ratePerSecond?: number;
  /**
   * Whether each group has its own circuit breaker, for example because each tenant has its own endpoint. While the
   * endpoint of a group is unavailable, only probes of this group start, and other groups are not affected. The breaker
   * of a group opens after two runs of it in a row found the endpoint unavailable. Where {@link ProcessingSettings.breaker}
   * or rejected requests would pause the queue, only the group is closed for {@link ProcessingSettings.pause}.
   * @default false, one circuit breaker for the queue
   */
  readonly breaker?: boolean;
}

/** Settings of `process-tasks`. */
export interface ProcessingSettings {
  /**
   * The order in which tasks start. `'newest-first'`: the newest task first; a key moves to the time of its newest
   * state. `'oldest-key-first'`: the key that has waited longest first, with its newest state, and tasks without a key
   * in the order of arrival. Under overload this gives the lowest mean age of the known states. Choose it if every key
   * matters equally, for example for presence, prices and refreshes. Its index reads have no bound, for any value of
   * {@link TaskSettings.allowDirectWrites}.
   * @default 'newest-first'
   */
  readonly order?: TaskOrder;
  /**
   * Time for which a turn takes new tasks.
   * @default 60 seconds
   */
  readonly turn?: Duration;
  /**
   * The longest time of one run of a task.
   * @default 30 seconds
   */
  readonly taskTimeout?: Duration;
  /**
   * Time before the function's deadline at which every task must be settled or returned.
   * @default 10 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Timeout of the function: at least turn + taskTimeout + deadlineMargin.
   * @default 2 minutes
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of the function, in MiB. Lambda gives processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Concurrent tasks within one invocation: at most 900, because Lambda allows 1,024 file descriptors
   * (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
   * @default 10
   */
  readonly concurrency?: number;
  /**
   * Maximum number of tasks that start per second, on average. Decimals are allowed (0.5: one in two seconds). The limit applies
   * across turns and invocations: a new turn does not begin with a full bucket.
   * @default - no limit but {@link concurrency}
   */
  readonly ratePerSecond?: number;
  /**
   * Maximum number of tasks that start immediately after a time without starts: the size of the bucket. In one second up to
   * `ratePerSecond` + `burst` tasks may start. If the downstream enforces a limit per second, set 1, and a rate slightly
   * below the limit. Only with {@link ratePerSecond}.
   * @default - ratePerSecond, rounded up
   */
  readonly burst?: number;
  /**
   * Reserved concurrency of the function: at least 2. Only one invocation at a time has the processor lease. The second
   * unit is for surplus notifications, which end within milliseconds. A higher value processes no faster: raise
   * {@link concurrency} instead. Lambda keeps 100 of an account's concurrency unreserved, or all of a smaller quota. A
   * new account with a quota of 10 must request a larger quota first.
   * @default 2
   */
  readonly reservedConcurrency?: number;
  /**
   * Lambda's retries of an asynchronous invocation that failed: 0, 1 or 2.
   * @default 1
   */
  readonly retryAttempts?: number;
  /**
   * Time for which Lambda keeps an asynchronous event. Lambda waits one minute before the first retry, so one minute
   * would prevent the retry.
   * @default 5 minutes
   */
  readonly maxEventAge?: Duration;
  /**
   * Duration of the processor lease: the time for which a crashed processor blocks others.
   * @default 20 seconds
   */
  readonly processorLease?: Duration;
  /**
   * Time between two renewals of the processor lease.
   * @default 5 seconds
   */
  readonly heartbeat?: Duration;
  /**
   * Time for which a processor continues to read an empty queue before it ends, because the index lags behind the
   * table.
   * @default 2 seconds
   */
  readonly indexLag?: Duration;
  /**
   * Turns in a row without a settled task before the tail calls end. From then on the sweep wakes the queue.
   * @default 10
   */
  readonly maxIdleTurns?: number;
  /**
   * Maximum difference between the clocks of two functions.
   * @default 2 seconds
   */
  readonly clockSkew?: Duration;
  /**
   * Duration of an automatic pause, for example because the downstream rejects the requests of the queue (wrong
   * credentials, wrong address). A pause for a busy downstream may be shorter.
   * @default 5 minutes
   */
  readonly pause?: Duration;
  /**
   * The circuit breaker, which protects the attempts of tasks while the downstream is unavailable.
   * @default - a circuit breaker
   */
  readonly breaker?: BreakerSettings;
  /**
   * A bound on the age of tasks that start while more tasks arrive than can run, for example
   * `{ target: Duration.seconds(1), interval: Duration.seconds(5) }`.
   * @default - no bound; an old task may start when no newer one is due, until it expires
   */
  readonly codel?: CodelSettings;
  /**
   * Groups of tasks, for example one per tenant, that share the queue fairly; `{}` for no limits of each group. The
   * group of a task is the part of its id before the first `/`; the field `group` of a task puts it there. For each start
   * the queue takes the newest due task of the group with the least recent service. So a tenant with many tasks does not
   * delay those of others. If tasks with a `/` in their id are pending when you enable groups, see
   * `docs/how-to/tenants.md` first.
   * @default - no groups; a `/` in an id has no meaning, and a task with the field `group` is invalid
   */
  readonly groups?: GroupSettings;
  /**
   * The longest time of a run while the downstream is healthy, in whole milliseconds. Slower runs lower the number of
   * tasks that run concurrently, faster runs raise it again up to {@link concurrency}. Choose a time that hardly any run
   * exceeds in normal operation, shorter than {@link taskTimeout}.
   * @default - none; the duration of runs has no effect
   */
  readonly targetLatency?: Duration;
  /**
   * Time for which one wake-up notification suppresses others, because its start marker is set
   * (rule 9 of `docs/explanation/wake-protocol.md`).
   * @default 10 seconds
   */
  readonly notificationMarker?: Duration;
  /**
   * The share of successful runs that the function logs with a line `run ended`, for example 0.01. It logs every run
   * with another result, and metrics count every run.
   * @default 1
   */
  readonly loggedSuccesses?: number;
}

/** One task in 1,000 s. At a lower rate, hardly any invocation (900 s at most) would start a task. */
const LOWEST_RATE = 0.001;

/** Far above the throughput of a queue. A higher limit would have no effect, so it is probably a mistake. */
const HIGHEST_RATE = 1_000_000;

/** The defaults and the ranges of {@link ProcessingSettings}. */
export const PROCESSING = {
  order: setting.free<TaskOrder>('newest-first'),
  turn: setting.duration(Duration.seconds(60), 1),
  taskTimeout: setting.duration(Duration.seconds(30), 1),
  deadlineMargin: setting.duration(Duration.seconds(10), 0),
  functionTimeout: setting.wholeSeconds(Duration.minutes(2), 1, 900, "Lambda's limit"),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  concurrency: setting.integer(
    10,
    1,
    900,
    'Lambda allows a function 1,024 file descriptors, and each running task needs a connection',
  ),
  ratePerSecond: { fallback: undefined, bounds: [LOWEST_RATE, HIGHEST_RATE], problems: rateProblems },
  burst: setting.integer(undefined, 1, HIGHEST_RATE),
  reservedConcurrency: setting.integer(
    2,
    2,
    1_000,
    'with 1, Lambda throttles a second notification until it expires and moves it to the failure queue',
  ),
  retryAttempts: setting.integer(1, 0, 2, "Lambda's limit"),
  maxEventAge: setting.wholeSeconds(Duration.minutes(5), 60, 21_600, "Lambda's limit"),
  processorLease: setting.duration(Duration.seconds(20), 1),
  heartbeat: setting.duration(Duration.seconds(5), 1),
  indexLag: setting.duration(Duration.seconds(2), 0),
  maxIdleTurns: setting.integer(10, 1, 100_000),
  clockSkew: setting.duration(Duration.seconds(2), 0),
  pause: setting.duration(Duration.minutes(5), 1),
  breaker: setting.free(undefined),
  codel: setting.free(undefined),
  groups: setting.free(undefined),
  targetLatency: setting.duration(undefined, 1),
  notificationMarker: setting.duration(Duration.seconds(10), 0),
  loggedSuccesses: setting.share(1),
} as const satisfies setting.Declarations<ProcessingSettings>;

/** The ranges of {@link GroupSettings}. */
export const GROUPS = {
  maxConcurrency: setting.integer(undefined, 1, 900, 'no queue runs more concurrent tasks'),
  ratePerSecond: { fallback: undefined, bounds: [LOWEST_RATE, HIGHEST_RATE], problems: rateProblems },
  breaker: setting.free<boolean>(false),
} as const satisfies setting.Declarations<GroupSettings>;

/** The defaults and the ranges of {@link BreakerSettings}. */
export const BREAKER = {
  enabled: setting.free<boolean>(true),
  pauseAfter: setting.wholeSeconds(undefined, 1),
} as const satisfies setting.Declarations<BreakerSettings>;

/** The ranges of {@link CodelSettings}. */
export const CODEL = {
  target: setting.duration(undefined, 1),
  interval: setting.duration(undefined, 1),
} as const satisfies setting.Declarations<CodelSettings>;

function rateProblems(setting: string, rate: number): Problem[] {
  return problemIf(
    !(rate >= LOWEST_RATE && rate <= HIGHEST_RATE),
    setting,
    `${rate} is not a rate from ${LOWEST_RATE} to ${HIGHEST_RATE} tasks per second`,
    `choose from ${LOWEST_RATE} to ${HIGHEST_RATE} (0.5: one task in two seconds), or omit it for no limit`,
  );
}
