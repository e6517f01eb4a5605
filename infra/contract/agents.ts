import { AGENT_METRICS } from './agent-metrics';

/** What all three functions of the agents' queue read. */
const SHARED = ['AGENT_TABLE_NAME', 'ASSIGNMENT_TOPIC_ARN', 'CALL_DEAD_LETTER_QUEUE_URL'] as const;

/**
 * The names that Rust and TypeScript must agree on for the agents' queue, as `agentQueue` of
 * `tests/contract.json` has them. Namespace and dimension of the metrics are those of the task queue.
 */
export const AGENT_QUEUE = {
  /** The table's keys, both S, and the end of a finished call, N. */
  table: { partitionKey: 'pk', sortKey: 'sk', timeToLive: 'ttl' },
  /** The environment variables each function reads beside `SETTINGS_<FUNCTION>`. Folder = binary = construct id = key here. */
  environment: {
    'agent-desk': SHARED,
    'match-calls': [...SHARED, 'CALL_QUEUE_URL'],
    'sweep-agents': SHARED,
  },
  /** Which of the matching agents is assigned: the one queued longest, or most recently. */
  orders: ['fifo', 'lifo'],
  /** Attributes that no dimension may have: the table's own. */
  reservedAttributes: [
    'pk',
    'sk',
    'AgentName',
    'AgentID',
    'AgentStatus',
    'Ticket',
    'AvailableSince',
    'QueuedAt',
    'Queues',
    'CallID',
    'LeaseUntil',
    'AnswerBy',
    'QueueVersionId',
    'QueueDepth',
    'WaitingDepth',
    'Criteria',
    'ArrivedAt',
    'CallStatus',
    'AssignedAt',
    'ttl',
  ],
  /** The metrics that the functions emit, for each queue: the dimension's value is the name of its table. */
  metrics: Object.keys(AGENT_METRICS) as AgentMetricName[],
  /** The outputs that the stack always has. */
  outputs: [
    'AgentTableName',
    'CallQueueUrl',
    'AssignmentTopicArn',
    'AgentDeskFunctionName',
    'CallDeadLetterQueueUrl',
  ],
  /** The outputs that the stack has where it has a dashboard. */
  optionalOutputs: { dashboard: ['DashboardUrl'] },
} as const;

/** The name of a metric of the agents' queue. */
export type AgentMetricName = keyof typeof AGENT_METRICS;

/** The name of an output of the stack. */
export type AgentOutputName = (typeof AGENT_QUEUE.outputs)[number];

/** The names of the functions of the agents' queue. */
export type AgentFunctionName = keyof typeof AGENT_QUEUE.environment;
