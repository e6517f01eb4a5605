import type { Duration } from 'aws-cdk-lib';
import * as setting from '../../lambda/setting';

/** When the alarms ring. */
export interface AlarmSettings {
  /**
   * The age of the oldest pending task, in whole seconds, above which an alarm rings: from then on tasks are about to
   * expire.
   * @default - 80 % of tasks.defaultTtl
   */
  readonly oldestPending?: Duration;
  /**
   * How far the readers of the table's stream (`trigger`, `count-shed`) may lag behind it: more than the window
   * in which they gather records.
   * @default - 1 minute beyond stream.batchWindow
   */
  readonly streamDelay?: Duration;
  /**
   * The age of the oldest message in the ingest queue, in whole seconds, above which an alarm rings: longer than one
   * failed attempt hides it.
   * @default - 1 minute beyond ingest.visibilityTimeout
   */
  readonly ingestDelay?: Duration;
  /**
   * Messages in the ingest queue's dead-letter queue above which an alarm rings.
   * @default 0
   */
  readonly ingestDeadLetters?: number;
  /**
   * The least tasks that must end as FAILURE within five minutes before the alarm `failing` rings: 1 or more.
   * @default 5
   */
  readonly failedTasks?: number;
  /**
   * The share of the tasks that ended within five minutes, from 0 to below 1, that must be FAILURE before the alarm
   * `failing` rings.
   * @default 0.5
   */
  readonly failedShare?: number;
  /**
   * Errors of `create-tasks` and `ingest-tasks` together in five minutes beyond which an alarm rings. Malformed events
   * of callers count, so a few are no fault of the queue.
   * @default 5
   */
  readonly createErrors?: number;
}

/** The defaults and the ranges of {@link AlarmSettings}. */
export const ALARMS = {
  oldestPending: setting.wholeSeconds(undefined, 1),
  streamDelay: setting.duration(undefined, 1),
  ingestDelay: setting.wholeSeconds(undefined, 1),
  ingestDeadLetters: setting.integer(0, 0, 1_000_000),
  failedTasks: setting.integer(5, 1, 1_000_000),
  failedShare: setting.free<number>(0.5),
  createErrors: setting.integer(5, 0, 1_000_000),
} as const satisfies setting.Declarations<AlarmSettings>;
