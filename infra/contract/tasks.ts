import type { AGENT_QUEUE } from './agents';
import { TASK_METRICS } from './task-metrics';

/**
 * Names of the task queue that TypeScript and Rust share, as defined in TypeScript. Rust defines them in
 * `crates/lifo-queue/src/schema.rs` and in the functions' configuration. Tests on both sides compare them with
 * `tests/contract.json`. The names of the agents' queue are in `agents.ts`.
 */

/** The task table: its key, its index, and the attributes and values that the functions use. */
export const TABLE = {
  /** Partition key of the table (S). */
  key: 'taskId',
  /** Index from which the processor selects tasks. */
  index: 'task-status-created-index',
  /** Partition key of the index (S). */
  indexPartitionKey: 'taskStatus',
  /** Sort key of the index (N, milliseconds since the epoch). */
  indexSortKey: 'taskCreated',
  /** DynamoDB's time to live (N, epoch seconds). */
  ttl: 'ttl',
  /**
   * Attributes in the index besides the keys: those that task selection and the sweep require, but not the payload.
   */
  indexProjection: ['ttl', 'notBefore', 'leaseUntil', 'leaseToken', 'attempts'],
  /** Attribute that identifies which state of its key a task represents (S). */
  version: 'taskVersion',
  /** Attribute that identifies the put that replaced an expired state (S). */
  revived: 'revived',
  /** The key of the control item. */
  controlItem: '#processor',
  /** The key of the item with the admission meter. */
  ingestItem: '#ingest',
  /** The key of the item with group overrides and the processors' group state. */
  groupsItem: '#groups',
  /** Values of {@link TABLE.indexPartitionKey}. A suffix `#n` is reserved for future shards. */
  statuses: ['PENDING', 'TAKEN', 'SUCCESS', 'FAILURE'],
} as const;

/**
 * Environment variables that each function reads in addition to `SETTINGS_<FUNCTION>`: names, ARNs and URLs. Each key
 * names the function, its folder, its binary and its construct.
 */
export const ENVIRONMENT = {
  'create-tasks': ['TASK_TABLE_NAME'],
  'ingest-tasks': ['INGEST_DEAD_LETTER_QUEUE_URL', 'INGEST_QUEUE_URL', 'SHED_QUEUE_URL', 'TASK_TABLE_NAME'],
  trigger: ['PROCESS_TASKS_TOPIC_ARN', 'TASK_TABLE_NAME'],
  'process-tasks': ['PROCESS_TASKS_TOPIC_ARN', 'TASK_RUNNER', 'TASK_TABLE_NAME', 'TRIGGER_TOPIC_ARN'],
  'sweep-tasks': ['PROCESS_TASKS_TOPIC_ARN', 'TASK_TABLE_NAME'],
  'count-shed': ['EVENT_BUS_ARN', 'SHED_QUEUE_URL', 'TASK_TABLE_NAME'],
} as const;

/** Environment variables that a function doesn't require. */
export const OPTIONAL_ENVIRONMENT = ['EVENT_BUS_ARN', 'SHED_QUEUE_URL'] as const;

/** Metrics that the functions emit. Their dimension value is the name of the queue's table. */
export const METRICS = {
  namespace: 'freshq',
  dimension: 'Queue',
  names: Object.keys(TASK_METRICS) as MetricName[],
} as const;

export type MetricName = keyof typeof TASK_METRICS;

/** Outputs that `exportOutputs` always adds. */
export const OUTPUTS = [
  'QueueTableName',
  'TriggerTopicArn',
  'ProcessTasksTopicArn',
  'CreateTasksFunctionName',
  'TriggerFunctionName',
  'ProcessTasksFunctionName',
] as const;

/** Outputs that exist only if the stack has an ingest queue, keeps shed tasks, or has a dashboard. */
export const OPTIONAL_OUTPUTS = {
  ingest: ['IngestQueueUrl', 'IngestDeadLetterQueueUrl'],
  shedTasks: ['ShedTasksQueueUrl'],
  dashboard: ['DashboardUrl'],
} as const;

/** The environment variables of every function of both queues. */
type Environments = typeof ENVIRONMENT & typeof AGENT_QUEUE.environment;

/** Name shared by a function, its folder, its binary and its construct. */
export type FunctionName = keyof Environments;

export type OutputName = (typeof OUTPUTS)[number];

export type IngestOutputName = (typeof OPTIONAL_OUTPUTS.ingest)[number];

type VariableOf<F extends FunctionName> = Environments[F][number];
type OptionalVariable = (typeof OPTIONAL_ENVIRONMENT)[number];

/** Environment of a function, with exactly the variables that the contract defines. */
export type EnvironmentOf<F extends FunctionName> = Record<Exclude<VariableOf<F>, OptionalVariable>, string> &
  Partial<Record<Extract<VariableOf<F>, OptionalVariable>, string>>;
