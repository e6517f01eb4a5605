import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RustFunction } from '../../shared/rust-function';
import { FunctionSchedule } from '../../shared/schedule';
import { SWEEP_INTERVAL } from '../rules';
import { expiryBound, type QueueSettings } from '../settings';
import { CONTROL_ITEM_ONLY, GROUPS_ITEM_ONLY } from '../task-table';
import type { TaskWiring } from './task-wiring';

/** Returns tasks with expired leases and replaces lost wake-ups every minute. */
export class SweepTasks extends RustFunction<'sweep-tasks'> {
  readonly schedule: FunctionSchedule;

  constructor(scope: Construct, id: string, props: TaskWiring) {
    const { table, processTasksTopic, settings } = props;
    super(scope, id, {
      binary: 'sweep-tasks',
      description: 'Returns tasks whose lease expired, wakes process-tasks where a wake-up was lost',
      environment: {
        TASK_TABLE_NAME: table.table.tableName,
        PROCESS_TASKS_TOPIC_ARN: processTasksTopic.topic.topicArn,
      },
      settings: sweepTasksSettings(settings),
      timeout: Duration.seconds(50),
      memorySize: 256,
      logs: props.logs,
      // No retries, because the next sweep starts within a minute.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allow(['dynamodb:Query'], [table.indexArn]);
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn]);
    this.allow(['dynamodb:GetItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    if (settings.processing.groups)
      this.allow(['dynamodb:GetItem'], [table.table.tableArn], GROUPS_ITEM_ONLY);
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn]);
    this.schedule = new FunctionSchedule(this, 'every-minute', {
      target: this,
      every: SWEEP_INTERVAL,
      description: 'Looks for leases that expired and for lost wake-ups',
    });
  }
}

export function sweepTasksSettings(settings: QueueSettings) {
  const { tasks, processing } = settings;
  const { codel, clockSkew, notificationMarker } = processing;
  return {
    notificationMarker,
    sweep: {
      clockSkew,
      defaultTtl: tasks.defaultTtl,
      expiryBound: expiryBound(settings),
      failureRetention: tasks.failureRetention,
      groups: processing.groups && true,
      maxAttempts: tasks.maxAttempts,
      overloadReach: codel && Duration.millis(2 * codel.target.toMilliseconds()),
      retry: { base: tasks.retryBase, max: tasks.retryMax },
    },
  };
}
