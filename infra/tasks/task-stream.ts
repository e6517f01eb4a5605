import type { Duration } from 'aws-cdk-lib';
import { EventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { RustFunction } from '../lambda/rust-function';
import type { TaskTable } from './task-table';

export interface TaskStreamProps {
  readonly table: TaskTable;
  /** Patterns of Lambda's event filtering. A record reaches the function if it matches at least one of them. */
  readonly patterns: Record<string, unknown>[];
  readonly batchSize: number;
  /** Time for which Lambda gathers records before it invokes the function. */
  readonly batchWindow: Duration;
  readonly retryAttempts: number;
  /** Lambda skips records older than this, and sends their sequence numbers to the function's failure queue. */
  readonly maxRecordAge: Duration;
  /**
   * Whether the function reports the first failed record, so that Lambda retries the batch only from there.
   * @default false - a batch fails as a whole
   */
  readonly reportsFailures?: boolean;
}

/**
 * Invokes a function with the records of the table's stream, from the stream's beginning. Lambda halves and retries a
 * failed batch. After the last retry it reports the batch to the function's failure queue.
 *
 * DynamoDB allows two readers of a shard at a time and throttles further ones. `trigger` and `count-shed` are these
 * two. Let a third reader read from one of these functions, or from a Kinesis stream of the table.
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
    // Lambda rejects a mapping whose function may not read the stream yet.
    if (reader.function.role !== undefined) this.node.addDependency(reader.function.role);
  }
}
