import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { EnvironmentOf } from '../../contract/tasks';
import type { QueueTopic } from '../../lambda/queue-topic';
import { type LogSettings, RustFunction } from '../../lambda/rust-function';
import { expiryBound } from '../expiry-bound';
import type { RunnerBinding } from '../runners/binding';
import type { QueueSettings } from '../settings';
import { CONTROL_ITEM_ONLY, type TaskTable } from '../task-table';

/** Props of {@link ProcessTasks}. */
export interface ProcessTasksProps {
  readonly table: TaskTable;
  /** Wake-ups come from here. */
  readonly processTasksTopic: QueueTopic;
  /** Tail calls go there. */
  readonly triggerTopic: QueueTopic;
  /** The task runner. */
  readonly runner: RunnerBinding;
  readonly settings: QueueSettings;
  readonly logs: LogSettings;
}

/** Takes the newest task, runs it, settles it, again and again: one processor at a time. */
export class ProcessTasks extends RustFunction<'process-tasks'> {
  constructor(scope: Construct, id: string, props: ProcessTasksProps) {
    const { table, processTasksTopic, triggerTopic, runner, settings } = props;
    const { processing } = settings;
    super(scope, id, {
      binary: 'process-tasks',
      description: 'Processes the newest tasks first',
      environment: {
        ...runner.environment,
        ...settingsEnvironment(settings),
        TASK_TABLE_NAME: table.table.tableName,
        PROCESS_TASKS_TOPIC_ARN: processTasksTopic.topic.topicArn,
        TRIGGER_TOPIC_ARN: triggerTopic.topic.topicArn,
        TASK_RUNNER: Stack.of(scope).toJsonString(runner.description),
      },
      timeout: processing.functionTimeout,
      memorySize: processing.memorySize,
      logs: props.logs,
      reservedConcurrency: processing.reservedConcurrency,
      async: { retryAttempts: processing.retryAttempts, maxEventAge: processing.maxEventAge },
      partOfLoop: true,
      code: runner.code,
      network: runner.network,
    });
    this.allow(['dynamodb:Query'], [table.indexArn]);
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn]);
    this.allow(['dynamodb:GetItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    this.allow(['sns:Publish'], [processTasksTopic.topic.topicArn, triggerTopic.topic.topicArn]);
    for (const { actions, resources, conditions } of runner.permissions ?? []) {
      this.allow(actions, resources, conditions);
    }
    processTasksTopic.notify(this);
  }
}

type SettingEnvironment = Omit<
  EnvironmentOf<'process-tasks'>,
  'TASK_TABLE_NAME' | 'PROCESS_TASKS_TOPIC_ARN' | 'TRIGGER_TOPIC_ARN' | 'TASK_RUNNER'
>;

function settingsEnvironment(settings: QueueSettings): SettingEnvironment {
  const { tasks, processing } = settings;
  return {
    ...expiryBound(settings),
    ...rateLimit(settings),
    ...breaker(settings),
    ...overload(settings),
    CLOCK_SKEW_MS: String(processing.clockSkew.toMilliseconds()),
    DEADLINE_MARGIN_MS: String(processing.deadlineMargin.toMilliseconds()),
    DEFAULT_TTL_SECONDS: String(tasks.defaultTtl.toSeconds()),
    FAILURE_RETENTION_SECONDS: String(tasks.failureRetention.toSeconds()),
    HEARTBEAT_MS: String(processing.heartbeat.toMilliseconds()),
    INDEX_LAG_MS: String(processing.indexLag.toMilliseconds()),
    MAX_ATTEMPTS: String(tasks.maxAttempts),
    MAX_BUSY_RETURNS: String(tasks.maxBusyReturns),
    MAX_IDLE_TURNS: String(processing.maxIdleTurns),
    MAX_UNAVAILABLE_RETURNS: String(tasks.maxUnavailableReturns),
    NOTIFICATION_MARKER_MS: String(processing.notificationMarker.toMilliseconds()),
    PAUSE_MS: String(processing.pause.toMilliseconds()),
    PROCESSOR_LEASE_MS: String(processing.processorLease.toMilliseconds()),
    RETRY_BASE_MS: String(tasks.retryBase.toMilliseconds()),
    RETRY_MAX_MS: String(tasks.retryMax.toMilliseconds()),
    SUCCESS_RETENTION_SECONDS: String(tasks.successRetention.toSeconds()),
    TASK_ORDER: processing.order,
    TASK_SLOTS: String(processing.concurrency),
    TASK_TIMEOUT_MS: String(processing.taskTimeout.toMilliseconds()),
    TURN_MS: String(processing.turn.toMilliseconds()),
  };
}

function rateLimit({ processing: { ratePerSecond, burst } }: QueueSettings) {
  if (ratePerSecond === undefined) return {};
  return { RATE_PER_SECOND: String(ratePerSecond), RATE_BURST: String(burst ?? Math.ceil(ratePerSecond)) };
}

function breaker({ processing: { breaker } }: QueueSettings) {
  return breaker.enabled ? { BREAKER_PAUSE_AFTER_SECONDS: String(breaker.pauseAfter.toSeconds()) } : {};
}

function overload({ processing: { codel, targetLatency } }: QueueSettings) {
  return {
    ...(codel && {
      CODEL_TARGET_MS: String(codel.target.toMilliseconds()),
      CODEL_INTERVAL_MS: String(codel.interval.toMilliseconds()),
    }),
    ...(targetLatency && { TARGET_LATENCY_MS: String(targetLatency.toMilliseconds()) }),
  };
}
