import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../lambda/defined';
import type { AlarmSettings } from './settings/alarms';
import { type IngestSettings, type ResolvedIngestSettings, resolveIngestSettings } from './settings/ingest';

/** What holds for every task. */
export interface TaskSettings {
  /**
   * Expiry of a task that names none, from its creation.
   * @default 1 hour
   */
  readonly defaultTtl?: Duration;
  /**
   * The longest expiry a task may name.
   * @default - the limit built into create-tasks
   */
  readonly maxTtl?: Duration;
  /**
   * Whether programs other than the queue's functions may put tasks into the table.
   *
   * `false` is a promise: no task's `ttl` is more than {@link maxTtl} after its `taskCreated`. `maxTtl` is then
   * required. Tasks redriven by `freshq` are an exception that the queue handles. In return, index reads start at
   * now - `maxTtl`, so an expired backlog, which DynamoDB deletes within days, costs no reads. If a writer breaks
   * the promise, the queue no longer finds its task once it is older than `maxTtl`, and sheds it. Lower `maxTtl`
   * only when no task with a longer expiry is left.
   * @default true
   */
  readonly allowDirectWrites?: boolean;
  /**
   * How long a task that succeeded is kept. A task with a key may expire no later after its creation: with the
   * settled task the order of its key is forgotten.
   * @default 1 day
   */
  readonly successRetention?: Duration;
  /**
   * How long a task that failed is kept, for an operator to look at or to redrive. It bounds the expiry of tasks with
   * a key as {@link successRetention} does.
   * @default 14 days
   */
  readonly failureRetention?: Duration;
  /**
   * Attempts before a task is FAILURE.
   * @default 5
   */
  readonly maxAttempts?: number;
  /**
   * How often a busy downstream may return a task without costing it an attempt.
   * @default 20
   */
  readonly maxBusyReturns?: number;
  /**
   * How often an open circuit breaker ({@link ProcessingSettings.breaker}) may return a task without costing it an
   * attempt, beyond {@link maxBusyReturns}: 0 to 100,000.
   * @default 500
   */
  readonly maxUnavailableReturns?: number;
  /**
   * Upper bound of the first retry's backoff; it doubles with each attempt (full jitter).
   * @default 1 second
   */
  readonly retryBase?: Duration;
  /**
   * Upper bound of every backoff.
   * @default 5 minutes
   */
  readonly retryMax?: Duration;
}

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
   * one costs more and processes no faster: raise {@link concurrency} instead. Lambda keeps 10 of an account's
   * concurrency unreserved: a new account with a quota of 10 has to ask for more before it can deploy.
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
   * tasks that run at once, quicker ones raise it again up to {@link slots}. Choose a time that hardly any run exceeds
   * while nothing is wrong; shorter than {@link taskTimeout}.
   * @default - the time of a run changes nothing
   */
  readonly targetLatency?: Duration;
  /**
   * How long one wake-up notification holds others back.
   * @default 10 seconds
   */
  readonly notificationMarker?: Duration;
}

/** How the table's stream reaches `trigger`. */
export interface StreamSettings {
  /**
   * The most records of one invocation: 1 to 10,000.
   * @default 100
   */
  readonly batchSize?: number;
  /**
   * How long Lambda gathers records before it invokes: 0 to 300 s, whole seconds.
   * @default 0 seconds
   */
  readonly batchWindow?: Duration;
  /**
   * How often Lambda retries a failed batch: 0 to 10,000.
   * @default 5
   */
  readonly retryAttempts?: number;
  /**
   * Records older than this go to the failure queue unread: 1 minute to 7 days.
   * @default 10 minutes
   */
  readonly maxRecordAge?: Duration;
}

/** Named ways of batching the stream. */
export const StreamBatching = {
  /** Wakes at once: batches of up to 100 records, no window. */
  IMMEDIATE: { batchSize: 100, batchWindow: Duration.seconds(0) },
  /** 10 records or 10 seconds, as in the published newest-first samples. Fewer invocations, later starts. */
  BATCHED_10S: { batchSize: 10, batchWindow: Duration.seconds(10) },
  /** @deprecated The name before the first release; throws. */
  get PUBLISHED(): never {
    throw new Error('StreamBatching.PUBLISHED is now StreamBatching.BATCHED_10S. Remedy: write BATCHED_10S');
  },
} as const;

/** `T`, where all but `K` is known. */
type RequiredExcept<T, K extends keyof T> = Required<Omit<T, K>> & Pick<T, K>;

/** Every setting of a queue, defaults filled in. */
export interface QueueSettings {
  readonly tasks: RequiredExcept<TaskSettings, 'maxTtl'>;
  readonly processing: RequiredExcept<
    Omit<ProcessingSettings, 'breaker'>,
    'ratePerSecond' | 'burst' | 'codel' | 'targetLatency'
  > & {
    readonly breaker: Required<BreakerSettings>;
  };
  readonly stream: Required<StreamSettings>;
  readonly alarms: Required<AlarmSettings>;
  readonly ingest?: ResolvedIngestSettings;
}

/** The parts of a queue's settings as a user gives them. */
export interface PartialQueueSettings {
  /**
   * Expiry, retries and retention of tasks.
   * @default - the defaults of each setting
   */
  readonly tasks?: TaskSettings;
  /**
   * How `process-tasks` runs tasks.
   * @default - the defaults of each setting
   */
  readonly processing?: ProcessingSettings;
  /**
   * How the table's stream reaches `trigger`.
   * @default - the defaults of each setting
   */
  readonly stream?: StreamSettings;
  /**
   * When the alarms ring.
   * @default - the defaults of each setting
   */
  readonly alarms?: AlarmSettings;
  /**
   * An SQS queue in front of the table; `{}` sets up one with all defaults.
   * @default - none
   */
  readonly ingest?: IngestSettings;
}

/** 8 minutes, but always before the idle bound ends the tail calls. */
function defaultPauseAfter(maxIdleTurns: number, turn: Duration): Duration {
  const bound = Math.floor(0.8 * maxIdleTurns * turn.toSeconds({ integral: false }));
  return Duration.seconds(Math.max(1, Math.min(480, bound)));
}

/** Fills in the defaults. An explicit `undefined` counts as not given. */
export function resolveSettings(given: PartialQueueSettings): QueueSettings {
  const tasks = {
    defaultTtl: Duration.hours(1),
    allowDirectWrites: true,
    successRetention: Duration.days(1),
    failureRetention: Duration.days(14),
    maxAttempts: 5,
    maxBusyReturns: 20,
    maxUnavailableReturns: 500,
    retryBase: Duration.seconds(1),
    retryMax: Duration.minutes(5),
    ...definedOf(given.tasks),
  };
  const stream = {
    batchSize: 100,
    batchWindow: Duration.seconds(0),
    retryAttempts: 5,
    maxRecordAge: Duration.minutes(10),
    ...definedOf(given.stream),
  };
  const ingest = resolveIngestSettings(given.ingest ?? {});
  const idle = {
    turn: Duration.seconds(60),
    maxIdleTurns: 10,
    ...definedOf({ turn: given.processing?.turn, maxIdleTurns: given.processing?.maxIdleTurns }),
  };
  return {
    tasks,
    processing: {
      order: 'newest-first',
      taskTimeout: Duration.seconds(30),
      deadlineMargin: Duration.seconds(10),
      functionTimeout: Duration.minutes(2),
      memorySize: 256,
      concurrency: 10,
      reservedConcurrency: 1,
      retryAttempts: 1,
      maxEventAge: Duration.minutes(5),
      processorLease: Duration.seconds(20),
      heartbeat: Duration.seconds(5),
      indexLag: Duration.seconds(2),
      clockSkew: Duration.seconds(2),
      pause: Duration.minutes(5),
      notificationMarker: Duration.seconds(10),
      ...definedOf(given.processing),
      ...idle,
      breaker: {
        enabled: true,
        pauseAfter: defaultPauseAfter(idle.maxIdleTurns, idle.turn),
        ...definedOf(given.processing?.breaker),
      },
    },
    stream,
    alarms: {
      oldestPending: Duration.seconds(
        Math.max(1, Math.floor(0.8 * tasks.defaultTtl.toSeconds({ integral: false }))),
      ),
      streamDelay: stream.batchWindow.plus(Duration.minutes(1)),
      ingestDelay: ingest.visibilityTimeout.plus(Duration.minutes(1)),
      ingestDeadLetters: 0,
      failedTasks: 5,
      failedShare: 0.5,
      createErrors: 5,
      ...definedOf(given.alarms),
    },
    ...(given.ingest && { ingest }),
  };
}

/** The longest expiry of a task with a key: as long as its order is remembered, by the settled task. */
export function keyTtl({ successRetention, failureRetention }: QueueSettings['tasks']): Duration {
  return successRetention.toMilliseconds() < failureRetention.toMilliseconds()
    ? successRetention
    : failureRetention;
}
