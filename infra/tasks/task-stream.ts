import type { Duration } from 'aws-cdk-lib';
import { EventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { RustFunction } from '../lambda/rust-function';
import type { TaskTable } from './task-table';

/** Props of {@link TaskStream}. */
export interface TaskStreamProps {
  /** Whose stream. */
  readonly table: TaskTable;
  /** Patterns of the records that reach the function, as Lambda's event filtering understands them: one must fit. */
  readonly patterns: Record<string, unknown>[];
  /** The most records of one invocation. */
  readonly batchSize: number;
  /** How long Lambda gathers records before it invokes. */
  readonly batchWindow: Duration;
  /** How often Lambda retries a failed batch. */
  readonly retryAttempts: number;
  /** Records older than this go to the function's failure queue unread. */
  readonly maxRecordAge: Duration;
  /**
   * Whether the function answers which records failed, so that only these are retried.
   * @default false - a batch fails as a whole
   */
  readonly reportsFailures?: boolean;
}

/**
 * Reads the table's stream from its beginning into a function, with bounded retries, halved batches and the
 * function's failure queue.
 *
 * DynamoDB allows two readers of a shard at a time and throttles more. `trigger` and `count-shed` are the two:
 * a third belongs behind one of them, or on a Kinesis stream of the table.
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
