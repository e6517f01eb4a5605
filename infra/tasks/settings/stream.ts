import { Duration } from 'aws-cdk-lib';
import * as setting from '../../lambda/setting';

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

/** The defaults and the ranges of {@link StreamSettings}. */
export const STREAM = {
  batchSize: setting.integer(100, 1, 10_000, "Lambda's limit for DynamoDB streams"),
  batchWindow: setting.wholeSeconds(Duration.seconds(0), 0, 300, "Lambda's limit"),
  retryAttempts: setting.integer(5, 0, 10_000, "Lambda's limit"),
  maxRecordAge: setting.wholeSeconds(Duration.minutes(10), 60, 604_800, "Lambda's limit"),
} as const satisfies setting.Declarations<StreamSettings>;

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
