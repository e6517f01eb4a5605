import { Duration } from 'aws-cdk-lib';
import * as setting from '../../lambda/setting';

/** Settings that apply to every task. */
export interface TaskSettings {
  /**
   * Time from its creation until a task expires, if the task does not have its own expiry. For a direct writer's task, the
   * time counts from the take or from the sweep that finds it.
   * @default 1 hour
   */
  readonly defaultTtl?: Duration;
  /**
   * The longest expiry that a task may have.
   * @default - 3,660 days, the limit of create-tasks and ingest-tasks
   */
  readonly maxTtl?: Duration;
  /**
   * Whether programs other than the queue's functions may put tasks into the table.
   *
   * With `false` you guarantee that no task's `ttl` is more than {@link maxTtl} after its `taskCreated`; `maxTtl` is
   * then required. Tasks redriven by `freshq` are an exception that the queue handles. In return, index reads start at
   * now - `maxTtl`, so expired tasks, which DynamoDB deletes within days, cost no reads. If a writer breaks the
   * guarantee, the queue does not find its task once it is older than `maxTtl`, and sheds it. Lower `maxTtl` only when
   * no task with a longer expiry is left.
   * @default true
   */
  readonly allowDirectWrites?: boolean;
  /**
   * Time for which a succeeded task is kept. It is also the longest expiry of a task with a key, because the settled
   * task stores the order of its key.
   * @default 1 day
   */
  readonly successRetention?: Duration;
  /**
   * Time for which a failed task is kept, so that an operator can inspect or redrive it. It limits the expiry of tasks
   * with a key as {@link successRetention} does.
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
   * attempt, beyond {@link maxBusyReturns}: 0 to 100,000. After HTTP 500: at most 30 times.
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
