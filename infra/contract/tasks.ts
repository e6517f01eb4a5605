import type { AGENT_QUEUE } from './agents';
import { TASK_METRICS } from './task-metrics';

/**
 * The names that Rust and TypeScript must agree on, in one place for TypeScript. Rust's are in
 * `crates/lifo-queue/src/schema.rs` and the functions' configuration; tests on both sides compare with
 * `tests/contract.json`. The agents' queue has its own in `agents.ts`.
 */

/** The table: its key, its index and the values with a meaning to the queue. */
export const TABLE = {
  /** Partition key of the table (S). */
  key: 'taskId',
  /** The index the queue is read from. */
  index: 'task-status-created-index',
  /** Partition key of the index (S). */
  indexPartitionKey: 'taskStatus',
  /** Sort key of the index (N, milliseconds since the epoch). */
  indexSortKey: 'taskCreated',
  /** DynamoDB's time to live (N, epoch seconds). */
  ttl: 'ttl',
  /** What the index holds beside the keys: what selection and the sweep need, and no payload. */
  indexProjection: ['ttl', 'notBefore', 'leaseUntil', 'leaseToken', 'attempts'],
  /** Which state of its key a task is (S). */
  version: 'taskVersion',
  /** The put that replaced an expired state (S). */
  revived: 'revived',
  /** The key of the control item. */
  controlItem: '#processor',
  /** The values of {@link TABLE.indexPartitionKey}; each may carry a suffix `#n`, its shard. */
  statuses: ['PENDING', 'TAKEN', 'SUCCESS', 'FAILURE'],
} as const;

/**
 * The environment variables each function reads beside `SETTINGS_<FUNCTION>`: names, ARNs and URLs.
 * Folder = binary = construct id = key here.
 */
export const ENVIRONMENT = {
  'create-tasks': ['TASK_TABLE_NAME'],
  'ingest-tasks': ['INGEST_DEAD_LETTER_QUEUE_URL', 'INGEST_QUEUE_URL', 'SHED_QUEUE_URL', 'TASK_TABLE_NAME'],
  trigger: ['PROCESS_TASKS_TOPIC_ARN', 'TASK_TABLE_NAME'],
  'process-tasks': ['PROCESS_TASKS_TOPIC_ARN', 'TASK_RUNNER', 'TASK_TABLE_NAME', 'TRIGGER_TOPIC_ARN'],
  'sweep-tasks': ['PROCESS_TASKS_TOPIC_ARN', 'TASK_TABLE_NAME'],
  'count-shed': ['EVENT_BUS_ARN', 'SHED_QUEUE_URL', 'TASK_TABLE_NAME'],
} as const;

/** Variables a function does without. */
export const OPTIONAL_ENVIRONMENT = ['EVENT_BUS_ARN', 'SHED_QUEUE_URL'] as const;

/** The metrics that the functions emit, for each queue: the dimension's value is the name of its table. */
export const METRICS = {
  namespace: 'freshq',
  dimension: 'Queue',
  names: Object.keys(TASK_METRICS) as MetricName[],
} as const;

/** The name of a metric. */
export type MetricName = keyof typeof TASK_METRICS;

/** The outputs that the stack always has. */
export const OUTPUTS = [
  'QueueTableName',
  'TriggerTopicArn',
  'ProcessTasksTopicArn',
  'CreateTasksFunctionName',
  'TriggerFunctionName',
  'ProcessTasksFunctionName',
] as const;

/** The outputs that the stack has where it keeps shed tasks, and where it has an ingest queue or a dashboard. */
export const OPTIONAL_OUTPUTS = {
  shedTasks: ['ShedTasksQueueUrl'],
  ingest: ['IngestQueueUrl', 'IngestDeadLetterQueueUrl'],
  dashboard: ['DashboardUrl'],
} as const;

/** The environment variables of every function of both queues. */
type Environments = typeof ENVIRONMENT & typeof AGENT_QUEUE.environment;

/** The name of a function: its folder, its binary and its construct id. */
export type FunctionName = keyof Environments;

/** The name of an output of the stack. */
export type OutputName = (typeof OUTPUTS)[number];

type VariableOf<F extends FunctionName> = Environments[F][number];
type OptionalVariable = (typeof OPTIONAL_ENVIRONMENT)[number];

/** A function's environment: exactly the variables of the contract, checked by the compiler. */
export type EnvironmentOf<F extends FunctionName> = Record<Exclude<VariableOf<F>, OptionalVariable>, string> &
  Partial<Record<Extract<VariableOf<F>, OptionalVariable>, string>>;
