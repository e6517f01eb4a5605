import type { Duration } from 'aws-cdk-lib';
import * as setting from '../../lambda/setting';

/** Thresholds of the alarms. */
export interface AlarmSettings {
  /**
   * The alarm `oldest-pending` fires if the oldest pending task is older than this, in whole seconds. Choose an age
   * shortly before tasks expire.
   * @default - 80 % of tasks.defaultTtl
   */
  readonly oldestPending?: Duration;
  /**
   * The alarms `trigger-stream-delay` and `count-shed-stream-delay` fire if the function lags behind the table's stream
   * by more than this. It must exceed the windows in which Lambda gathers records: `stream.batchWindow` and 10 s.
   * @default - 1 minute beyond stream.batchWindow
   */
  readonly streamDelay?: Duration;
  /**
   * The alarm `ingest-delay` fires if the oldest message of the ingest queue is older than this, in whole seconds. The
   * alarm `ingest-stuck` fires if the queue has messages for as long and none is deleted. It must exceed
   * `ingest.visibilityTimeout`, for which one failed attempt hides a message.
   * @default - 1 minute beyond ingest.visibilityTimeout
   */
  readonly ingestDelay?: Duration;
  /**
   * The alarm `ingest-dead-letters` fires if the dead-letter queue of the ingest queue has more messages than this.
   * @default 0
   */
  readonly ingestDeadLetters?: number;
  /**
   * The alarm `failing` fires only if at least this many tasks end as FAILURE within five minutes: 1 or more.
   * @default 5
   */
  readonly failedTasks?: number;
  /**
   * The alarm `failing` fires only if more than this share of the tasks that end within five minutes are FAILURE: from
   * 0 to below 1.
   * @default 0.5
   */
  readonly failedShare?: number;
  /**
   * The alarm `create-tasks-errors` fires if more than this many invocations of `create-tasks` and `ingest-tasks`
   * together fail within five minutes. Malformed events of callers count, so a few errors are normal.
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
