import { Duration } from 'aws-cdk-lib';
import * as setting from '../../lambda/setting';

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

/** The defaults and the ranges of {@link TaskSettings}. */
export const TASKS = {
  defaultTtl: setting.wholeSeconds(Duration.hours(1), 1),
  maxTtl: setting.wholeSeconds(undefined, 1),
  allowDirectWrites: setting.free<boolean>(true),
  successRetention: setting.wholeSeconds(Duration.days(1), 0),
  failureRetention: setting.wholeSeconds(Duration.days(14), 0),
  maxAttempts: setting.integer(5, 1, 1_000),
  maxBusyReturns: setting.integer(20, 0, 100_000),
  maxUnavailableReturns: setting.integer(500, 0, 100_000),
  retryBase: setting.duration(Duration.seconds(1), 0),
  retryMax: setting.duration(Duration.minutes(5), 0),
} as const satisfies setting.Declarations<TaskSettings>;
