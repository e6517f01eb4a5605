import { Duration } from 'aws-cdk-lib';
import * as setting from '../../shared/setting';

/** How Lambda reads the table's stream for `trigger`. */
export interface StreamSettings {
  /**
   * Maximum number of records per batch: 1 to 10,000.
   * @default 100
   */
  readonly batchSize?: number;
  /**
   * How long Lambda gathers records before it invokes `trigger`: 0 to 300 s, in whole seconds.
   * @default 0 seconds
   */
  readonly batchWindow?: Duration;
  /**
   * A setting of the previous release, without effect: the sweep replaces a lost wake-up. Remove it.
   * @default 5
   */
  readonly retryAttempts?: number;
  /**
   * A setting of the previous release, without effect: the sweep replaces a lost wake-up. Remove it.
   * @default 10 minutes
   */
  readonly maxRecordAge?: Duration;
}

/** Defaults and ranges of {@link StreamSettings}. */
export const STREAM = {
  batchSize: setting.integer(100, 1, 10_000, "Lambda's limit for DynamoDB streams"),
  batchWindow: setting.wholeSeconds(Duration.seconds(0), 0, 300, "Lambda's limit"),
  retryAttempts: setting.former(5, 'Lambda retries a failed batch 5 times'),
  maxRecordAge: setting.former(Duration.minutes(10), 'trigger skips records that are older than 10 minutes'),
} as const satisfies setting.Declarations<StreamSettings>;

/** Presets of {@link StreamSettings}. */
export class StreamBatching {
  /** Wakes the queue immediately: batches of up to 100 records, without a batching window. */
  static readonly IMMEDIATE: StreamSettings = { batchSize: 100, batchWindow: Duration.seconds(0) };

  /** Fewer invocations, but later starts: batches of 10 records or 10 seconds, as in published newest-first samples. */
  static readonly BATCHED_10S: StreamSettings = { batchSize: 10, batchWindow: Duration.seconds(10) };

  private constructor() {}
}
