import { Duration } from 'aws-cdk-lib';
import { FilterRule } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { TABLE } from '../../contract/tasks';
import { RustFunction } from '../../shared/rust-function';
import type { QueueSettings } from '../settings';
import { TaskStream } from '../task-stream';
import { CONTROL_ITEM_ONLY } from '../task-table';
import type { TaskWiring } from './task-wiring';

/** Statuses of a key that isn't running: all except TAKEN. Each can have a shard suffix. */
const IDLE = [TABLE.statuses[0], TABLE.statuses[2], TABLE.statuses[3]];

/**
 * Requests a wake-up per stream batch and per tail call.
 *
 * Has no reserved concurrency, because two concurrent batches are harmless, but a throttled batch would be late.
 */
export class Trigger extends RustFunction<'trigger'> {
  constructor(scope: Construct, id: string, props: TaskWiring) {
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
      // Lambda doesn't retry a tail call, because the sweep would wake the queue before the retry. The stream has its
      // own retries.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
      partOfLoop: true,
    });
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn]);
    const pending = { [TABLE.indexPartitionKey]: { S: FilterRule.beginsWith(TABLE.statuses[0]) } };
    new TaskStream(this, 'stream', {
      table,
      ...settings.stream,
      // Matches only new tasks and new states of keys that aren't running. Other writes must not wake the queue. The
      // function compares the versions of a key, because a pattern can't.
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

export function triggerSettings({ processing: { notificationMarker }, traces }: QueueSettings) {
  return { notificationMarker, traces };
}
