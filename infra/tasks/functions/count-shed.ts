import { Duration, Token } from 'aws-cdk-lib';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { FilterRule } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { TABLE } from '../../contract/tasks';
import type { Problem } from '../../lambda/problem';
import { type LogSettings, RustFunction } from '../../lambda/rust-function';
import { SHED_WINDOW } from '../rules';
import { TaskStream } from '../task-stream';
import type { TaskTable } from '../task-table';

/** The statuses of a task that is not done, and of one that ended; a shard may follow. */
const UNDONE = TABLE.statuses.slice(0, 2).flatMap((status) => FilterRule.beginsWith(status));
const ENDED = TABLE.statuses.slice(2).flatMap((status) => FilterRule.beginsWith(status));

/** The changes of a task into SUCCESS or FAILURE. Other changes of a settled task are no end. */
export const ENDS = {
  dynamodb: {
    OldImage: { [TABLE.indexPartitionKey]: { S: UNDONE } },
    NewImage: { [TABLE.indexPartitionKey]: { S: ENDED } },
  },
};

/** How the stream is read where a bus gets events: soon, and again until the records are too old. A bus may be down for hours. */
const FOR_EVENTS = { batchWindow: Duration.seconds(1), retryAttempts: 10_000 };

/** Props of {@link CountShed}. */
export interface CountShedProps {
  readonly table: TaskTable;
  readonly logs: LogSettings;
  /**
   * Where each shed task goes, as JSON.
   * @default - nowhere; it is only counted
   */
  readonly shedTasksTo?: IQueue;
  /**
   * The bus that gets an event of each task that ended.
   * @default - none; there are no events
   */
  readonly taskEventsTo?: IEventBus;
}

/** What cannot work about a queue for shed tasks. */
export function shedQueueProblems(queue: IQueue | undefined): Problem[] {
  if (queue?.fifo !== true) return [];
  return [
    {
      setting: 'shedTasksTo',
      rule: 'shed tasks belong to no message group, without which a FIFO queue takes nothing',
      remedy: 'use a standard queue',
    },
  ];
}

/** What cannot work about a bus for events, of a queue in a region. */
export function eventBusProblems(bus: IEventBus | undefined, region: string): Problem[] {
  if (bus === undefined) return [];
  const setting = 'taskEventsTo';
  if (bus.eventSourceName !== undefined) {
    return [
      {
        setting,
        rule: `the bus of the partner ${bus.eventSourceName} takes events of this partner only`,
        remedy: 'use the default bus or a bus of your own',
      },
    ];
  }
  const there = bus.env.region;
  if (Token.isUnresolved(there) || Token.isUnresolved(region) || there === region) return [];
  return [
    {
      setting,
      rule: `count-shed in ${region} cannot publish to a bus in ${there}`,
      remedy: `use a bus in ${region}, with a rule that forwards to the other region`,
    },
  ];
}

/**
 * Counts the tasks that expired undone: what DynamoDB's time to live deletes while PENDING or TAKEN. Sends them on
 * to a queue where there is one. Publishes an event of each task that ended where there is a bus.
 *
 * It reads the table's stream beside `trigger`: DynamoDB allows two readers of a shard and throttles a third. It
 * wakes no processor, so it is not part of the loop.
 */
export class CountShed extends RustFunction<'count-shed'> {
  constructor(scope: Construct, id: string, props: CountShedProps) {
    const { table, shedTasksTo, taskEventsTo } = props;
    super(scope, id, {
      binary: 'count-shed',
      description: 'Counts expired tasks',
      environment: {
        TASK_TABLE_NAME: table.table.tableName,
        ...(shedTasksTo && { SHED_QUEUE_URL: shedTasksTo.queueUrl }),
        ...(taskEventsTo && { EVENT_BUS_ARN: taskEventsTo.eventBusArn }),
      },
      timeout: Duration.seconds(30),
      memorySize: 256,
      logs: props.logs,
      // Only the stream invokes it, and that has retries of its own.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    if (shedTasksTo !== undefined) this.allowSendTo(shedTasksTo);
    if (taskEventsTo !== undefined) this.allow(['events:PutEvents'], [taskEventsTo.eventBusArn]);
    new TaskStream(this, 'stream', {
      table,
      batchSize: 100,
      batchWindow: SHED_WINDOW,
      // Many retries, because a lost record is a task that disappeared uncounted; but bounded, so that one bad
      // record does not block the others. The stream keeps skipped records for the rest of its 24 hours.
      retryAttempts: 25,
      ...(taskEventsTo && FOR_EVENTS),
      maxRecordAge: Duration.hours(6),
      reportsFailures: true,
      // The TTL service's own deletions, of tasks that were not done. An operator's cancel carries no such identity;
      // what is past its retention has another status. In a global table only the region that deleted has it,
      // so that a task is counted once.
      patterns: [
        {
          eventName: FilterRule.isEqual('REMOVE'),
          userIdentity: {
            type: FilterRule.isEqual('Service'),
            principalId: FilterRule.isEqual('dynamodb.amazonaws.com'),
          },
          dynamodb: {
            OldImage: {
              [TABLE.indexPartitionKey]: { S: UNDONE },
            },
          },
        },
        // A state of a key that had expired when a newer one replaced it.
        {
          eventName: FilterRule.isEqual('MODIFY'),
          dynamodb: { NewImage: { [TABLE.revived]: { S: FilterRule.exists() } } },
        },
        ...(taskEventsTo === undefined ? [] : [ENDS]),
      ],
    });
  }
}
