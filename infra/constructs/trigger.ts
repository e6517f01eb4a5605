import { Duration } from 'aws-cdk-lib';
import { EventSourceMapping, FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { TABLE } from '../contract';
import type { QueueSettings } from '../settings';
import type { QueueTopic } from './queue-topic';
import { type LogSettings, RustFunction } from './rust-function';
import type { TaskTable } from './task-table';

/** Props of {@link Trigger}. */
export interface TriggerProps {
  readonly table: TaskTable;
  /** Tail calls come from here. */
  readonly triggerTopic: QueueTopic;
  /** Wake-ups go there. */
  readonly processTasksTopic: QueueTopic;
  readonly settings: QueueSettings;
  readonly logs: LogSettings;
}

/**
 * Asks for a wake-up, once for each batch of the stream and once for each tail call.
 *
 * It has no reserved concurrency: two batches at a time are harmless, and a throttled one would wait.
 */
export class Trigger extends RustFunction<'trigger'> {
  constructor(scope: Construct, id: string, props: TriggerProps) {
    const { table, triggerTopic, processTasksTopic, settings } = props;
    super(scope, id, {
      binary: 'trigger',
      description: 'Wakes process-tasks when tasks arrive and when work remains',
      environment: {
        TASK_TABLE_NAME: table.table.tableName,
        PROCESS_TASKS_TOPIC_ARN: processTasksTopic.topic.topicArn,
        NOTIFICATION_MARKER_MS: settings.processing.notificationMarker.toMilliseconds().toString(),
      },
      timeout: Duration.seconds(30),
      memorySize: 256,
      logs: props.logs,
      // A tail call is not retried: a late one wakes a queue that the sweep has woken already. The stream has
      // retries of its own.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
      partOfLoop: true,
    });
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn], {
      // ForAllValues is also true of a request without keys, hence Null.
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [TABLE.controlItem] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn]);
    this.readStream(table, settings);
    triggerTopic.notify(this);
  }

  private readStream(table: TaskTable, { stream }: QueueSettings): void {
    this.allow(
      ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
      [table.streamArn],
    );
    const mapping = new EventSourceMapping(this, 'stream', {
      target: this.function,
      eventSourceArn: table.streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: stream.batchSize,
      maxBatchingWindow: stream.batchWindow,
      retryAttempts: stream.retryAttempts,
      maxRecordAge: stream.maxRecordAge,
      bisectBatchOnError: true,
      onFailure: this.failures.asDestination(),
      // Only new tasks that are due a processor: what the queue itself writes must not wake it.
      filters: [
        FilterCriteria.filter({
          eventName: FilterRule.isEqual('INSERT'),
          dynamodb: {
            NewImage: { [TABLE.indexPartitionKey]: { S: FilterRule.beginsWith(TABLE.statuses[0]) } },
          },
        }),
      ],
    });
    // Lambda refuses a mapping whose function may not read the stream yet.
    if (this.function.role !== undefined) mapping.node.addDependency(this.function.role);
  }
}
