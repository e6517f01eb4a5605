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

/** The environment variables each function reads. Folder = binary = construct id = key here. */
export const ENVIRONMENT = {
  'create-tasks': [
    'DEFAULT_TTL_SECONDS',
    'KEY_TTL_SECONDS',
    'MAX_TTL_SECONDS',
    'SIMULATION_ENABLED',
    'TASK_ORDER',
    'TASK_TABLE_NAME',
  ],
  'ingest-tasks': [
    'DEADLINE_MARGIN_MS',
    'DEFAULT_TTL_SECONDS',
    'INGEST_DEAD_LETTER_QUEUE_URL',
    'INGEST_QUEUE_URL',
    'KEY_TTL_SECONDS',
    'MAX_TTL_SECONDS',
    'SHED_QUEUE_URL',
    'TASK_ORDER',
    'TASK_TABLE_NAME',
    'VISIBILITY_BASE_SECONDS',
    'VISIBILITY_MAX_SECONDS',
    'WRITE_PARALLELISM',
  ],
  trigger: ['NOTIFICATION_MARKER_MS', 'PROCESS_TASKS_TOPIC_ARN', 'TASK_TABLE_NAME'],
  'process-tasks': [
    'BREAKER_PAUSE_AFTER_SECONDS',
    'CLOCK_SKEW_MS',
    'CODEL_INTERVAL_MS',
    'CODEL_TARGET_MS',
    'DEADLINE_MARGIN_MS',
    'DEFAULT_TTL_SECONDS',
    'EXPIRY_BOUND_SECONDS',
    'FAILURE_RETENTION_SECONDS',
    'HEARTBEAT_MS',
    'INDEX_LAG_MS',
    'MAX_ATTEMPTS',
    'MAX_BUSY_RETURNS',
    'MAX_IDLE_TURNS',
    'MAX_UNAVAILABLE_RETURNS',
    'NOTIFICATION_MARKER_MS',
    'PAUSE_MS',
    'PROCESSOR_LEASE_MS',
    'PROCESS_TASKS_TOPIC_ARN',
    'RATE_BURST',
    'RATE_PER_SECOND',
    'RETRY_BASE_MS',
    'RETRY_MAX_MS',
    'SUCCESS_RETENTION_SECONDS',
    'TARGET_LATENCY_MS',
    'TASK_ORDER',
    'TASK_RUNNER',
    'TASK_SLOTS',
    'TASK_TABLE_NAME',
    'TASK_TIMEOUT_MS',
    'TRIGGER_TOPIC_ARN',
    'TURN_MS',
  ],
  'sweep-tasks': [
    'CLOCK_SKEW_MS',
    'CODEL_TARGET_MS',
    'DEFAULT_TTL_SECONDS',
    'EXPIRY_BOUND_SECONDS',
    'FAILURE_RETENTION_SECONDS',
    'MAX_ATTEMPTS',
    'NOTIFICATION_MARKER_MS',
    'PROCESS_TASKS_TOPIC_ARN',
    'RETRY_BASE_MS',
    'RETRY_MAX_MS',
    'TASK_TABLE_NAME',
  ],
  'count-shed': ['SHED_QUEUE_URL', 'TASK_TABLE_NAME'],
} as const;

/** Variables a function does without. */
export const OPTIONAL_ENVIRONMENT = [
  'BREAKER_PAUSE_AFTER_SECONDS',
  'CODEL_INTERVAL_MS',
  'CODEL_TARGET_MS',
  'TARGET_LATENCY_MS',
  'MAX_TTL_SECONDS',
  'EXPIRY_BOUND_SECONDS',
  'RATE_PER_SECOND',
  'RATE_BURST',
  'SHED_QUEUE_URL',
  'TASK_ORDER',
] as const;

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
type OptionalVariable =
  | (typeof OPTIONAL_ENVIRONMENT)[number]
  | (typeof AGENT_QUEUE.optionalEnvironment)[number];

/** A function's environment: exactly the variables of the contract, checked by the compiler. */
export type EnvironmentOf<F extends FunctionName> = Record<Exclude<VariableOf<F>, OptionalVariable>, string> &
  Partial<Record<Extract<VariableOf<F>, OptionalVariable>, string>>;
