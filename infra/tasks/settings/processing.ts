import { Duration } from 'aws-cdk-lib';
import { type Problem, problemIf } from '../../shared/problem';
import { LONGEST_TIMEOUT_S } from '../../shared/ranges';
import * as setting from '../../shared/setting';

/**
 * The circuit breaker. It opens after five consecutive runs without a success or failure, because the downstream is
 * unavailable (5xx, no connection, no response in time), busy or rejects the requests. While it is open, only probes
 * start, one at a time. The first success or failure closes it. `docs/explanation/circuit-breaker.md` has the details.
 */
export interface BreakerSettings {
  /**
   * Whether to use a circuit breaker. Without one, tasks lose attempts while the downstream is unavailable or rejects
   * the requests.
   * @default true
   */
  readonly enabled?: boolean;
  /**
   * A setting of the previous release, without effect: a long outage no longer pauses the queue. Remove it.
   * @default 8 minutes
   */
  readonly pauseAfter?: Duration;
}

/**
 * Limit on the age of tasks that start under overload. A task is new until its age is twice {@link target}. The queue
 * is overloaded when new tasks were due throughout one {@link interval}. During overload, only new tasks and redriven
 * tasks start; older tasks cost no reads and expire as usual. The overload ends when slots were free and no new task
 * was pending for the duration of {@link target}. The age of retried and delayed tasks also counts from their creation.
 */
export interface CodelSettings {
  /**
   * Half of the maximum age at which tasks start under overload: 1 ms or more. Choose a time longer than tasks stay
   * pending while the queue keeps up.
   */
  readonly target: Duration;
  /**
   * How long new tasks must be due before the queue counts as overloaded: at least twice {@link target} and shorter
   * than {@link ProcessingSettings.turn}. Choose several times the duration of a typical run.
   */
  readonly interval: Duration;
}

/** The order in which tasks start: see {@link ProcessingSettings.order}. */
export type TaskOrder = 'newest-first' | 'oldest-key-first';

/**
 * Limits for each group of tasks. `freshq limit --group` overrides them for one group. A group that has reached a
 * limit is closed: its tasks aren't due, while tasks of other groups start. With a limit or a breaker, busy responses
 * concern only the task's group: from the second consecutive one on, the group is closed until the `Retry-After`.
 */
export interface GroupSettings {
  /**
   * Maximum number of concurrent tasks per group, even across crashes. After a processor crash, groups with this limit
   * wait until the tasks that might still be running are counted.
   * @default - no limit but {@link ProcessingSettings.concurrency}
   */
  readonly maxConcurrency?: number;
  /**
   * Maximum average number of task starts per second and group. Decimals are allowed (0.5 means one every two seconds).
   * After a time without starts, one second's worth of tasks, but at least one task, can start immediately.
   * @default - no limit but {@link ProcessingSettings.ratePerSecond}
   */
  readonly ratePerSecond?: number;
  /**
   * Whether each group has its own circuit breaker, for example because each tenant has its own endpoint. While a group's
   * endpoint is unavailable, busy or rejects its requests, only probes of this group start, and other groups are not
   * affected.
   * @default false, one circuit breaker for the queue
   */
  readonly breaker?: boolean;
}

/** Settings of `process-tasks`. */
export interface ProcessingSettings {
  /**
   * The order in which tasks start. With `'newest-first'`, the newest task starts first; a key moves to the time of its
   * newest state. With `'oldest-key-first'`, the key pending longest starts first, with its newest state, and tasks
   * without a key start in order of arrival. Under overload, this gives the lowest mean age of the known states. Choose
   * it if every key matters equally, for example for presence, prices and refreshes. This order's index reads have no
   * bound, whatever the value of {@link TaskSettings.allowDirectWrites}.
   * @default 'newest-first'
   */
  readonly order?: TaskOrder;
  /**
   * How long a turn takes new tasks. It goes on while a run is older than half a second, because no task starts between
   * two turns, until one {@link taskTimeout} before the function must end.
   * @default 60 seconds
   */
  readonly turn?: Duration;
  /**
   * Maximum duration of one run of a task.
   * @default 30 seconds
   */
  readonly taskTimeout?: Duration;
  /**
   * A setting of the previous release, without effect: one value is right for every queue. Remove it.
   * @default 10 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Timeout of the function: at least turn + taskTimeout + 10 s, in which the function returns unfinished tasks. With
   * more time, long runs do not delay the tasks behind them at the end of a turn.
   * @default 4 minutes
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of the function, in MiB. Lambda allocates CPU power in proportion to memory.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Number of concurrent tasks within one invocation: a maximum of 900, because Lambda allows 1,024 file descriptors
   * (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
   * @default 10
   */
  readonly concurrency?: number;
  /**
   * Maximum average number of task starts per second. Decimals are allowed (0.5 means one every two seconds). The limit
   * applies across turns and invocations: a new turn doesn't start with a full bucket.
   * @default - no limit but {@link concurrency}
   */
  readonly ratePerSecond?: number;
  /**
   * Maximum number of tasks that start immediately after a time without starts: the bucket size. In one second, up to
   * `ratePerSecond` + `burst` tasks can start. If the downstream enforces a limit per second, set the burst to 1 and
   * the rate slightly below the limit. Only with {@link ratePerSecond}.
   * @default - ratePerSecond, rounded up
   */
  readonly burst?: number;
  /**
   * A setting of the previous release, without effect: a higher value didn't speed up processing. Remove it.
   * @default 2
   */
  readonly reservedConcurrency?: number;
  /**
   * Whether the function uses the account's unreserved concurrency instead of reserving 2 units: one for the processor,
   * one for surplus invocations, which end within milliseconds. For an account that can't reserve any: Lambda keeps 100
   * units unreserved, or the whole quota if it is smaller, for example 10 in a new account. Other functions can then
   * throttle it, so that tasks start later. The processor lease still admits only one processor.
   * @default false
   */
  readonly unreservedConcurrency?: boolean;
  /**
   * A setting of the previous release, without effect: the sweep replaces a lost wake-up. Remove it.
   * @default 1
   */
  readonly retryAttempts?: number;
  /**
   * A setting of the previous release, without effect: Lambda keeps a wake-up for as long as a retry needs. Remove it.
   * @default - 5 minutes, or 1 minute beyond functionTimeout if that is longer
   */
  readonly maxEventAge?: Duration;
  /**
   * Duration of the processor lease, which is also how long a crashed processor blocks other processors.
   * @default 20 seconds
   */
  readonly processorLease?: Duration;
  /**
   * Interval between renewals of the processor lease.
   * @default 5 seconds
   */
  readonly heartbeat?: Duration;
  /**
   * How long a processor keeps polling an empty queue before it exits, because the index lags behind the table.
   * @default 2 seconds
   */
  readonly indexLag?: Duration;
  /**
   * A setting of the previous release, without effect: one value is right for every queue. Remove it.
   * @default 10
   */
  readonly maxIdleTurns?: number;
  /**
   * A setting of the previous release, without effect: clocks on AWS differ by far less. Remove it.
   * @default 2 seconds
   */
  readonly clockSkew?: Duration;
  /**
   * A setting of the previous release, without effect: the queue no longer pauses itself. Remove it.
   * @default 5 minutes
   */
  readonly pause?: Duration;
  /**
   * The circuit breaker, which preserves tasks' attempts while the downstream is unavailable.
   * @default - enabled, with the defaults of each setting
   */
  readonly breaker?: BreakerSettings;
  /**
   * Limit on the age of tasks that start while tasks arrive faster than they can run, for example
   * `{ target: Duration.seconds(1), interval: Duration.seconds(5) }`.
   * @default - no limit; an old task can start when no newer one is due, until it expires
   */
  readonly codel?: CodelSettings;
  /**
   * Groups of tasks, for example one per tenant, that share the queue fairly. Use `{}` for no limits per group. A
   * task's group is the part of its id before the first `/`, which the task's `group` field sets. For each start, the
   * queue takes the newest due task of the least recently served group. A tenant with many tasks therefore doesn't
   * delay tasks of other tenants. If tasks with a `/` in their id are pending when you enable groups, see
   * `docs/how-to/tenants.md` first.
   * @default - no groups; a `/` in an id has no meaning, and a task with a `group` field is invalid
   */
  readonly groups?: GroupSettings;
  /**
   * Maximum duration of a run while the downstream is healthy, in whole milliseconds. Slower runs lower the number of
   * concurrent tasks; faster runs raise it again, up to {@link concurrency}. Choose a time shorter than
   * {@link taskTimeout} that hardly any run exceeds in normal operation.
   * @default - none; run durations have no effect
   */
  readonly targetLatency?: Duration;
  /**
   * A setting of the previous release, without effect: one value is right for every queue. Remove it.
   * @default 10 seconds
   */
  readonly notificationMarker?: Duration;
  /**
   * Share of successful runs for which the function logs a `run ended` line, for example 0.01. The function logs every
   * run with another result, and metrics count every run.
   * @default 1
   */
  readonly loggedSuccesses?: number;
}

/** Minimum rate: one task per 1,000 s. At a lower rate, hardly any invocation (900 s at most) would start a task. */
const LOWEST_RATE = 0.001;

/** Maximum rate, far above a queue's throughput. A higher limit has no effect, so it is probably a mistake. */
const HIGHEST_RATE = 1_000_000;

const NO_PAUSE = 'the queue no longer pauses itself, it only probes during an outage';

/** Defaults and ranges of {@link ProcessingSettings}. */
export const PROCESSING = {
  order: setting.free<TaskOrder>('newest-first'),
  turn: setting.duration(Duration.seconds(60), 1),
  taskTimeout: setting.duration(Duration.seconds(30), 1),
  deadlineMargin: setting.former(Duration.seconds(10), 'it is 10 s'),
  functionTimeout: setting.wholeSeconds(
    Duration.minutes(4),
    1,
    LONGEST_TIMEOUT_S,
    'the maximum timeout of a function',
  ),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  concurrency: setting.integer(
    10,
    1,
    900,
    'Lambda allows a function 1,024 file descriptors, and each running task needs a connection',
  ),
  ratePerSecond: { fallback: undefined, bounds: [LOWEST_RATE, HIGHEST_RATE], problems: rateProblems },
  burst: setting.integer(undefined, 1, HIGHEST_RATE),
  reservedConcurrency: setting.former(2, 'process-tasks reserves 2 units'),
  unreservedConcurrency: setting.free<boolean>(false),
  retryAttempts: setting.former(1, 'Lambda retries a failed invocation once'),
  maxEventAge: setting.former(undefined, 'it is at least 5 minutes, and 1 minute more than functionTimeout'),
  processorLease: setting.duration(Duration.seconds(20), 1),
  heartbeat: setting.duration(Duration.seconds(5), 1),
  indexLag: setting.duration(Duration.seconds(2), 0),
  maxIdleTurns: setting.former(10, 'it is 10'),
  clockSkew: setting.former(Duration.seconds(2), 'it is 2 s'),
  pause: setting.former(Duration.minutes(5), NO_PAUSE),
  breaker: setting.free(undefined),
  codel: setting.free(undefined),
  groups: setting.free(undefined),
  targetLatency: setting.duration(undefined, 1),
  notificationMarker: setting.former(Duration.seconds(10), 'it is 10 s'),
  loggedSuccesses: setting.share(1),
} as const satisfies setting.Declarations<ProcessingSettings>;

/** Ranges of {@link GroupSettings}. */
export const GROUPS = {
  maxConcurrency: setting.integer(undefined, 1, 900, 'no queue runs more concurrent tasks'),
  ratePerSecond: { fallback: undefined, bounds: [LOWEST_RATE, HIGHEST_RATE], problems: rateProblems },
  breaker: setting.free<boolean>(false),
} as const satisfies setting.Declarations<GroupSettings>;

/** Defaults and ranges of {@link BreakerSettings}. */
export const BREAKER = {
  enabled: setting.free<boolean>(true),
  pauseAfter: setting.former(Duration.minutes(8), NO_PAUSE),
} as const satisfies setting.Declarations<BreakerSettings>;

/** Ranges of {@link CodelSettings}. */
export const CODEL = {
  target: setting.duration(undefined, 1),
  interval: setting.duration(undefined, 1),
} as const satisfies setting.Declarations<CodelSettings>;

function rateProblems(setting: string, rate: number): Problem[] {
  return problemIf(
    !(rate >= LOWEST_RATE && rate <= HIGHEST_RATE),
    setting,
    `${rate} is not a rate from ${LOWEST_RATE} to ${HIGHEST_RATE} tasks per second`,
    `choose from ${LOWEST_RATE} to ${HIGHEST_RATE} (0.5: one task every two seconds), or omit it for no limit`,
  );
}
