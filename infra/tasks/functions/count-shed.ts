import { Duration } from 'aws-cdk-lib';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { FilterRule } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { TABLE } from '../../contract/tasks';
import { type Problem, problemIf } from '../../shared/problem';
import { regionProblem } from '../../shared/region';
import { RustFunction } from '../../shared/rust-function';
import { SHED_WINDOW } from '../rules';
import { TaskStream } from '../task-stream';
import type { TaskWiring } from './task-wiring';

/** Patterns that match the statuses before a task ends (PENDING, TAKEN) and after, even with a shard suffix. */
const UNDONE = TABLE.statuses.slice(0, 2).flatMap((status) => FilterRule.beginsWith(status));
const ENDED = TABLE.statuses.slice(2).flatMap((status) => FilterRule.beginsWith(status));

/** Pattern of a task's change to SUCCESS or FAILURE. It doesn't match later changes of the settled task. */
export const ENDS = {
  dynamodb: {
    OldImage: { [TABLE.indexPartitionKey]: { S: UNDONE } },
    NewImage: { [TABLE.indexPartitionKey]: { S: ENDED } },
  },
};

/** Stream settings with an event bus. Lambda reads sooner and retries longer, because a bus can fail for hours. */
const FOR_EVENTS = { batchWindow: Duration.seconds(1), retryAttempts: 10_000 };

export interface CountShedProps extends TaskWiring {
  /**
   * The queue that receives each shed task as JSON.
   * @default - none; shed tasks are only counted
   */
  readonly shedTasksTo?: IQueue;
  /**
   * The bus that receives an event per finished task.
   * @default - none; no events are published
   */
  readonly taskEventsTo?: IEventBus;
}

/** Returns the problems with a queue for the shed tasks of a task queue in `region`. */
export function shedQueueProblems(queue: IQueue | undefined, region: string): Problem[] {
  if (queue === undefined) return [];
  const setting = 'shedTasksTo';
  return [
    ...problemIf(
      queue.fifo === true,
      setting,
      'shed tasks have no message group, which a FIFO queue requires',
      'use a standard queue',
    ),
    ...regionProblem(
      setting,
      queue,
      region,
      (here, there) => `count-shed and ingest-tasks in ${here} cannot send to a queue in ${there}`,
      (here) => `use a queue in ${here}`,
    ),
  ];
}

/** Returns the problems with an event bus for a task queue in `region`. */
export function eventBusProblems(bus: IEventBus | undefined, region: string): Problem[] {
  if (bus === undefined) return [];
  const setting = 'taskEventsTo';
  if (bus.eventSourceName !== undefined) {
    return [
      {
        setting,
        rule: `the bus of the partner ${bus.eventSourceName} accepts only this partner's events`,
        remedy: 'use the default bus or your own bus',
      },
    ];
  }
  return regionProblem(
    setting,
    bus,
    region,
    (here, there) => `count-shed in ${here} cannot publish to a bus in ${there}`,
    (here) => `use a bus in ${here}, with a rule that forwards to the other region`,
  );
}

/**
 * Counts shed tasks, which DynamoDB's time to live deleted while they were PENDING or TAKEN. If there is a queue for
 * shed tasks, the function sends them there. If there is an event bus, it publishes an event per finished task.
 *
 * Like `trigger`, it reads the table's stream. DynamoDB allows two readers per shard and throttles a third. The
 * function doesn't wake a processor, so it is not part of the loop of tail calls.
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
      // Only the stream invokes this function, and the stream mapping has its own retries.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    if (shedTasksTo !== undefined) this.allowSendTo(shedTasksTo);
    if (taskEventsTo !== undefined) this.allow(['events:PutEvents'], [taskEventsTo.eventBusArn]);
    new TaskStream(this, 'stream', {
      table,
      batchSize: 100,
      batchWindow: SHED_WINDOW,
      // Many retries, because a skipped record is an uncounted shed task. The number is limited, so that a record that
      // always fails doesn't block the others. The stream keeps skipped records for the rest of its 24 hours.
      retryAttempts: 25,
      ...(taskEventsTo && FOR_EVENTS),
      maxRecordAge: Duration.hours(6),
      reportsFailures: true,
      // Matches unfinished tasks deleted by DynamoDB's time to live. An operator's deletion has no service identity,
      // and a settled task past its retention has a different status. In a global table, only the region that deletes
      // the task sees the service identity, so the task is counted once.
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
        // Matches the replacement of a key's expired state by a newer state.
        {
          eventName: FilterRule.isEqual('MODIFY'),
          dynamodb: { NewImage: { [TABLE.revived]: { S: FilterRule.exists() } } },
        },
        ...(taskEventsTo === undefined ? [] : [ENDS]),
      ],
    });
  }
}
