import type { Duration } from 'aws-cdk-lib';
import { EventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { RustFunction } from '../shared/rust-function';
import type { TaskTable } from './task-table';

export interface TaskStreamProps {
  readonly table: TaskTable;
  /** Lambda event filter patterns. A record reaches the function if it matches at least one pattern. */
  readonly patterns: Record<string, unknown>[];
  readonly batchSize: number;
  /** How long Lambda gathers records before it invokes the function. */
  readonly batchWindow: Duration;
  readonly retryAttempts: number;
  /** Age above which Lambda skips a record and sends its sequence number to the function's failure queue. */
  readonly maxRecordAge: Duration;
  /**
   * Whether the function reports the first failed record, so that Lambda retries the batch only from there.
   * @default false - a batch fails as a whole
   */
  readonly reportsFailures?: boolean;
}

/**
 * Invokes a function with the records of the table's stream, from the start of the stream. Lambda halves and retries a
 * failed batch. After the last retry, Lambda reports the batch to the function's failure queue.
 *
 * DynamoDB allows two concurrent readers per shard and throttles additional readers. `trigger` and `count-shed` are the
 * two readers. A third reader must read from one of these functions or from a Kinesis stream of the table.
 */
export class TaskStream extends EventSourceMapping {
  constructor(reader: RustFunction, id: string, props: TaskStreamProps) {
    const { table } = props;
    reader.allow(
      ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
      [table.streamArn],
    );
    super(reader, id, {
      target: reader.function,
      eventSourceArn: table.streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: props.batchSize,
      maxBatchingWindow: props.batchWindow,
      retryAttempts: props.retryAttempts,
      maxRecordAge: props.maxRecordAge,
      bisectBatchOnError: true,
      reportBatchItemFailures: props.reportsFailures,
      onFailure: reader.failures.asDestination(),
      filters: props.patterns.map((pattern) => FilterCriteria.filter(pattern)),
    });
    // Lambda rejects a mapping whose function doesn't have permission to read the stream yet.
    if (reader.function.role !== undefined) this.node.addDependency(reader.function.role);
  }
}
