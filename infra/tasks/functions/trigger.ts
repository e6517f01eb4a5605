import { Duration } from 'aws-cdk-lib';
import { FilterRule } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { TABLE } from '../../contract/tasks';
import type { QueueTopic } from '../../lambda/queue-topic';
import { type LogSettings, RustFunction } from '../../lambda/rust-function';
import type { QueueSettings } from '../settings';
import { TaskStream } from '../task-stream';
import { CONTROL_ITEM_ONLY, type TaskTable } from '../task-table';

/** The statuses of a key that does not run; a shard may follow. */
const IDLE = [TABLE.statuses[0], TABLE.statuses[2], TABLE.statuses[3]];

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
      },
      settings: triggerSettings(settings),
      timeout: Duration.seconds(30),
      memorySize: 256,
      logs: props.logs,
      // A tail call is not retried: a late one wakes a queue that the sweep has woken already. The stream has
      // retries of its own.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
      partOfLoop: true,
    });
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn]);
    const pending = { [TABLE.indexPartitionKey]: { S: FilterRule.beginsWith(TABLE.statuses[0]) } };
    new TaskStream(this, 'stream', {
      table,
      ...settings.stream,
      // Only new tasks, and new states of keys, that are due a processor: what the queue itself writes must not
      // wake it. The function compares the versions of a key, which a pattern cannot.
      patterns: [
        { eventName: FilterRule.isEqual('INSERT'), dynamodb: { NewImage: pending } },
        {
          eventName: FilterRule.isEqual('MODIFY'),
          dynamodb: {
            NewImage: { ...pending, [TABLE.version]: { S: FilterRule.exists() } },
            OldImage: {
              [TABLE.indexPartitionKey]: { S: IDLE.flatMap((status) => FilterRule.beginsWith(status)) },
            },
          },
        },
      ],
    });
    triggerTopic.notify(this);
  }
}

/** What `trigger` is set up with. */
export function triggerSettings({ processing: { notificationMarker }, traces }: QueueSettings) {
  return { notificationMarker, traces };
}
