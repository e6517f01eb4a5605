import { Duration } from 'aws-cdk-lib';
import type { Problem } from '../../lambda/problem';
import * as setting from '../../lambda/setting';

/**
 * The circuit breaker. It opens when more distinct tasks than run at once, and at least ten, find the downstream
 * unavailable (5xx, no connection, no answer in time) with no success or failure in between. While it is open, only
 * probes start, one at a time, and no task loses an attempt. The first success or failure closes it.
 */
export interface BreakerSettings {
  /**
   * Whether there is a circuit breaker. Without one, an unavailable downstream costs each task its attempts.
   * @default true
   */
  readonly enabled?: boolean;
  /**
   * How long the breaker may be open before the queue pauses for {@link ProcessingSettings.pause}; then one probe
   * decides. Whole seconds, shorter than {@link ProcessingSettings.maxIdleTurns} × {@link ProcessingSettings.turn},
   * after which the queue no longer calls itself.
   * @default - 8 minutes, or 80 % of maxIdleTurns × turn where that is shorter
   */
  readonly pauseAfter?: Duration;
}

/**
 * Bounded age under overload. The queue is overloaded when new tasks, at most twice {@link target} old, have been
 * waiting for the whole {@link interval}. Then only new tasks start, redriven ones excepted; older tasks cost no reads
 * and expire as usual. The overload is over when slots have been free for {@link target} with no new task waiting; then
 * every task may start again. Retried and delayed tasks count from their creation, too.
 */
export interface CodelSettings {
  /**
   * Half the age at which a task is too old to start while the queue is overloaded: 1 ms or more, longer than a task
   * waits in a queue that keeps up.
   */
  readonly target: Duration;
  /**
   * For how long new tasks must have been waiting before the queue is overloaded: at least twice {@link target},
   * shorter than {@link ProcessingSettings.turn}, several times as long as a typical run.
   */
  readonly interval: Duration;
}

/** Which task is next: see {@link ProcessingSettings.order}. */
export type TaskOrder = 'newest-first' | 'oldest-key-first';

/** How `process-tasks` works. */
export interface ProcessingSettings {
  /**
   * Which task is next. `'newest-first'`: the newest; a key moves to the moment of its newest state.
   * `'oldest-key-first'`: the key that has waited longest, with its newest state. Under overload this keeps the last
   * known state of all keys youngest; it suits presence, prices and refreshes, where every key matters equally. Tasks
   * without a key then run in the order of arrival. Index reads then have no
   * bound, whatever {@link TaskSettings.allowDirectWrites} says.
   * @default 'newest-first'
   */
  readonly order?: TaskOrder;
  /**
   * How long a turn takes new tasks.
   * @default 60 seconds
   */
  readonly turn?: Duration;
  /**
   * How long one run of a task may take.
   * @default 30 seconds
   */
  readonly taskTimeout?: Duration;
  /**
   * How long before the function's deadline every task must be settled or returned.
   * @default 10 seconds
   */
  readonly deadlineMargin?: Duration;
  /**
   * Timeout of the function: at least turn + taskTimeout + deadlineMargin.
   * @default 2 minutes
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of the function, MiB. Lambda gives processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Tasks that run at once within one invocation.
   * @default 10
   */
  readonly concurrency?: number;
  /**
   * The most tasks that start in a second, on average; decimals allowed (0.5: one in two seconds). It holds
   * across turns and invocations: a new turn does not begin with a full bucket.
   * @default - no limit but {@link concurrency}
   */
  readonly ratePerSecond?: number;
  /**
   * The most tasks that start at once after a quiet time: the size of the bucket. Only with
   * {@link ratePerSecond}.
   * @default - ratePerSecond, rounded up
   */
  readonly burst?: number;
  /**
   * Reserved concurrency of the function. One invocation holds the processor lease at a time, so more than
   * one costs more and processes no faster: raise {@link concurrency} instead. Lambda keeps 100 of an account's
   * concurrency unreserved, or all of a smaller quota. A new account with a quota of 10 must request a larger quota first.
   * @default 1
   */
  readonly reservedConcurrency?: number;
  /**
   * Lambda's retries of an asynchronous invocation that failed: 0, 1 or 2.
   * @default 1
   */
  readonly retryAttempts?: number;
  /**
   * How long Lambda keeps an asynchronous event. It waits one minute before the first retry, so a minute
   * alone would forbid the retry.
   * @default 5 minutes
   */
  readonly maxEventAge?: Duration;
  /**
   * The processor lease: how long a crashed processor blocks others.
   * @default 20 seconds
   */
  readonly processorLease?: Duration;
  /**
   * How often the processor's lease is renewed.
   * @default 5 seconds
   */
  readonly heartbeat?: Duration;
  /**
   * How long a processor keeps reading an empty queue before it ends, because the index lags behind the table.
   * @default 2 seconds
   */
  readonly indexLag?: Duration;
  /**
   * Consecutive turns that settle nothing before the tail calls end and the sweep takes over.
   * @default 10
   */
  readonly maxIdleTurns?: number;
  /**
   * By how much the clocks of two functions may differ.
   * @default 2 seconds
   */
  readonly clockSkew?: Duration;
  /**
   * How long the queue pauses when the downstream rejects us (wrong credentials, wrong address).
   * @default 5 minutes
   */
  readonly pause?: Duration;
  /**
   * How the queue behaves while the downstream is unavailable.
   * @default - a circuit breaker
   */
  readonly breaker?: BreakerSettings;
  /**
   * How old tasks may become while more arrive than can run, for example
   * `{ target: Duration.seconds(1), interval: Duration.seconds(5) }`.
   * @default - not bounded; old tasks start whenever no newer one waits, until they expire
   */
  readonly codel?: CodelSettings;
  /**
   * How long a run takes at most while the downstream is well, in whole milliseconds. Slower answers lower the number of
   * tasks that run at once, quicker ones raise it again up to {@link concurrency}. Choose a time that hardly any run exceeds
   * while nothing is wrong; shorter than {@link taskTimeout}.
   * @default - the time of a run changes nothing
   */
  readonly targetLatency?: Duration;
  /**
   * How long one wake-up notification holds others back.
   * @default 10 seconds
   */
  readonly notificationMarker?: Duration;
  /**
   * The share of successful runs that leave a line `run ended` in the log, for example 0.01. Runs with any other result always leave
   * one, and metrics count every run.
   * @default 1
   */
  readonly loggedSuccesses?: number;
}

/** One task in 1,000 s: slower than that, not one would start within the longest invocation (900 s). */
const LOWEST_RATE = 0.001;

/** Far beyond what a queue sustains: a limit that limits nothing is a mistake. */
const HIGHEST_RATE = 1_000_000;

/** The defaults and the ranges of {@link ProcessingSettings}. */
export const PROCESSING = {
  order: setting.free<TaskOrder>('newest-first'),
  turn: setting.duration(Duration.seconds(60), 1),
  taskTimeout: setting.duration(Duration.seconds(30), 1),
  deadlineMargin: setting.duration(Duration.seconds(10), 0),
  functionTimeout: setting.wholeSeconds(Duration.minutes(2), 1, 900, "Lambda's limit"),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  concurrency: setting.integer(10, 1, 1_000),
  ratePerSecond: { fallback: undefined, bounds: [LOWEST_RATE, HIGHEST_RATE], problem: rateProblem },
  burst: setting.integer(undefined, 1, HIGHEST_RATE),
  reservedConcurrency: setting.integer(
    1,
    1,
    1_000,
    'with none, Lambda would throttle every notification and no task would run',
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
  targetLatency: setting.duration(undefined, 1),
  notificationMarker: setting.duration(Duration.seconds(10), 0),
  loggedSuccesses: setting.share(1),
} as const satisfies setting.Declarations<ProcessingSettings>;

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

function rateProblem(setting: string, rate: number): Problem | undefined {
  if (rate >= LOWEST_RATE && rate <= HIGHEST_RATE) return undefined;
  return {
    setting,
    rule: `${rate} is not a rate from ${LOWEST_RATE} to ${HIGHEST_RATE} tasks per second`,
    remedy: `choose from ${LOWEST_RATE} to ${HIGHEST_RATE} (0.5: one task in two seconds), or leave it out for no limit`,
  };
}
