import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RustFunction } from '../../shared/rust-function';
import { maxEventAge } from '../rules';
import type { RunnerBinding } from '../runners/binding';
import { expiryBound, type QueueSettings } from '../settings';
import { CONTROL_ITEM_ONLY, GROUPS_ITEM_ONLY } from '../task-table';
import type { TaskWiring } from './task-wiring';

export interface ProcessTasksProps extends TaskWiring {
  readonly runner: RunnerBinding;
}

/** Takes, runs and settles the newest due task repeatedly. Only one invocation at a time has the processor lease. */
export class ProcessTasks extends RustFunction<'process-tasks'> {
  constructor(scope: Construct, id: string, props: ProcessTasksProps) {
    const { table, processTasksTopic, triggerTopic, runner, settings } = props;
    const { processing } = settings;
    super(scope, id, {
      binary: 'process-tasks',
      description: 'Processes the newest tasks first',
      environment: {
        ...runner.environment,
        TASK_TABLE_NAME: table.table.tableName,
        PROCESS_TASKS_TOPIC_ARN: processTasksTopic.topic.topicArn,
        TRIGGER_TOPIC_ARN: triggerTopic.topic.topicArn,
        TASK_RUNNER: Stack.of(scope).toJsonString(runner.description),
      },
      settings: processTasksSettings(settings),
      timeout: processing.functionTimeout,
      memorySize: processing.memorySize,
      logs: props.logs,
      reservedConcurrency: processing.unreservedConcurrency ? undefined : processing.reservedConcurrency,
      async: {
        retryAttempts: processing.retryAttempts,
        maxEventAge: maxEventAge(processing.functionTimeout),
      },
      partOfLoop: true,
      code: runner.code,
      network: runner.network,
    });
    this.allow(['dynamodb:Query'], [table.indexArn]);
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn]);
    this.allow(['dynamodb:GetItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    if (processing.groups) this.allow(['dynamodb:GetItem'], [table.table.tableArn], GROUPS_ITEM_ONLY);
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn, triggerTopic.topic.topicArn]);
    for (const { actions, resources, conditions } of runner.permissions ?? []) {
      this.allow(actions, resources, conditions);
    }
    processTasksTopic.notify(this);
  }
}

/** Returns a limit on task starts per second. The default burst is one second's worth of starts. */
function rateOf(perSecond: number | undefined, burst?: number) {
  return perSecond === undefined ? undefined : { perSecond, burst: burst ?? Math.ceil(perSecond) };
}

/** Returns the settings of `process-tasks`: those of `processing` that don't configure Lambda, and those of `tasks`. */
export function processTasksSettings(settings: QueueSettings) {
  const { tasks, processing } = settings;
  const { functionTimeout, memorySize, reservedConcurrency, unreservedConcurrency, ...own } = processing;
  const { retryAttempts, ratePerSecond, burst, breaker, groups, ...same } = own;
  return {
    ...same,
    groups: groups && {
      maxConcurrency: groups.maxConcurrency,
      rate: rateOf(groups.ratePerSecond),
      ...(groups.breaker && { breaker: true }),
    },
    breaker: breaker.enabled
      ? { pauseAfter: breaker.pauseAfter, maxReturns: tasks.maxUnavailableReturns }
      : undefined,
    rate: rateOf(ratePerSecond, burst),
    defaultTtl: tasks.defaultTtl,
    expiryBound: expiryBound(settings),
    maxAttempts: tasks.maxAttempts,
    maxBusyReturns: tasks.maxBusyReturns,
    retention: { success: tasks.successRetention, failure: tasks.failureRetention },
    retry: { base: tasks.retryBase, max: tasks.retryMax },
    ...(settings.ingest?.admission && { publishCapacity: true }),
    traces: settings.traces,
  };
}
