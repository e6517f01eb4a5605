import type { Duration } from 'aws-cdk-lib';
import * as setting from '../../shared/setting';

/** Alarm thresholds. */
export interface AlarmSettings {
  /**
   * Age of the oldest pending task above which the `oldest-pending` alarm fires, in whole seconds. Choose an age
   * shortly before tasks expire.
   * @default - 80 % of tasks.defaultTtl
   */
  readonly oldestPending?: Duration;
  /**
   * Lag of a function behind the table's stream above which its alarm fires: `trigger-stream-delay` or
   * `count-shed-stream-delay`. It must exceed the batching windows of both functions: `stream.batchWindow` and 10 s.
   * @default - 1 minute beyond stream.batchWindow
   */
  readonly streamDelay?: Duration;
  /**
   * Age of the oldest message in the ingest queue above which the `ingest-delay` alarm fires, in whole seconds. The
   * `ingest-stuck` alarm fires if the queue has had messages for this long and none was deleted. One failed attempt
   * hides a message for six times `ingest.functionTimeout` plus `ingest.batchWindow`, which the value must exceed.
   * @default - 1 minute beyond the time that a failed attempt hides a message
   */
  readonly ingestDelay?: Duration;
  /**
   * Number of messages in the ingest queue's dead-letter queue above which the `ingest-dead-letters` alarm fires.
   * @default 0
   */
  readonly ingestDeadLetters?: number;
  /**
   * Minimum number of tasks that must end as FAILURE within five minutes for the `failing` alarm to fire: 1 or more.
   * @default 5
   */
  readonly failedTasks?: number;
  /**
   * The `failing` alarm fires only if the share of FAILURE among the tasks that end within five minutes exceeds this
   * value: from 0 to below 1.
   * @default 0.5
   */
  readonly failedShare?: number;
  /**
   * Number of failed invocations of `create-tasks` and `ingest-tasks` together, within five minutes, above which the
   * `create-tasks-errors` alarm fires. Malformed events from callers also count, so a few errors are normal.
   * @default 5
   */
  readonly createErrors?: number;
}

/** Defaults and ranges of {@link AlarmSettings}. */
export const ALARMS = {
  oldestPending: setting.wholeSeconds(undefined, 1),
  streamDelay: setting.duration(undefined, 1),
  ingestDelay: setting.wholeSeconds(undefined, 1),
  ingestDeadLetters: setting.integer(0, 0, 1_000_000),
  failedTasks: setting.integer(5, 1, 1_000_000),
  failedShare: setting.free<number>(0.5),
  createErrors: setting.integer(5, 0, 1_000_000),
} as const satisfies setting.Declarations<AlarmSettings>;
