import { Duration } from 'aws-cdk-lib';
import * as setting from '../../shared/setting';

/** Settings that apply to every task. */
export interface TaskSettings {
  /**
   * Time from a task's creation until it expires, unless the task sets its own expiry. For a task from a direct writer,
   * the time counts from when the processor takes the task or the sweep finds it.
   * @default 1 hour
   */
  readonly defaultTtl?: Duration;
  /**
   * Maximum expiry of a task.
   * @default - 3,660 days, the limit of create-tasks and ingest-tasks
   */
  readonly maxTtl?: Duration;
  /**
   * Whether programs other than the queue's functions can put tasks into the table.
   *
   * With `false`, you guarantee that no task's `ttl` is more than {@link maxTtl} after its `taskCreated`, and `maxTtl`
   * is required. The queue handles tasks redriven by `freshq`, which are an exception. In exchange, index reads start
   * at now - `maxTtl`, so expired tasks, which DynamoDB deletes within days, cost no reads. If a task breaks the
   * guarantee, the queue doesn't find it once it is older than `maxTtl`, and the task is shed. Before you lower
   * `maxTtl`, make sure that no task with a longer expiry is left.
   * @default true
   */
  readonly allowDirectWrites?: boolean;
  /**
   * How long a succeeded task is kept. This is also the maximum expiry of a task with a key, because the settled task
   * stores the key's order.
   * @default 1 day
   */
  readonly successRetention?: Duration;
  /**
   * How long a failed task is kept, so that an operator can inspect or redrive it. Like {@link successRetention}, it
   * limits the expiry of tasks with a key.
   * @default 14 days
   */
  readonly failureRetention?: Duration;
  /**
   * Number of attempts after which a task becomes FAILURE.
   * @default 5
   */
  readonly maxAttempts?: number;
  /**
   * Maximum number of times that a busy downstream can return a task without using up an attempt.
   * @default 20
   */
  readonly maxBusyReturns?: number;
  /**
   * Maximum number of runs without a success or failure that return a task without using up an attempt, while no other
   * task gets one, beyond {@link maxBusyReturns}: 0 to 100,000.
   * @default 500
   */
  readonly maxUnavailableReturns?: number;
  /**
   * Maximum backoff before the first retry. It doubles with each attempt (full jitter).
   * @default 1 second
   */
  readonly retryBase?: Duration;
  /**
   * Maximum backoff before any retry.
   * @default 5 minutes
   */
  readonly retryMax?: Duration;
}

/** Defaults and ranges of {@link TaskSettings}. */
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
