import { AGENT_METRICS } from './agent-metrics';

/** Environment variables that all three functions of the agents' queue read. */
const SHARED = ['AGENT_TABLE_NAME', 'ASSIGNMENT_TOPIC_ARN', 'CALL_DEAD_LETTER_QUEUE_URL'] as const;

/**
 * Names of the agents' queue that Rust and TypeScript share: `agentQueue` in `tests/contract.json`. The metrics have
 * the same namespace and dimension as those of the task queue.
 */
export const AGENT_QUEUE = {
  /** Names of the key attributes (S) and of the attribute with a finished call's deletion time (N, epoch seconds). */
  table: { partitionKey: 'pk', sortKey: 'sk', timeToLive: 'ttl' },
  /**
   * Environment variables that each function reads in addition to `SETTINGS_<FUNCTION>`. Each key names the
   * function, its folder, its binary and its construct.
   */
  environment: {
    'agent-desk': SHARED,
    'match-calls': [...SHARED, 'CALL_QUEUE_URL'],
    'sweep-agents': SHARED,
  },
  /** Values of `agents.order`: the agent queued longest is assigned first, or the agent queued most recently. */
  orders: ['fifo', 'lifo'],
  /** Attributes that the table itself uses. A dimension can't use any of them. */
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
    'Criteria',
    'ArrivedAt',
    'CallStatus',
    'AssignedAt',
    'ttl',
  ],
  /** Metrics that the functions emit. Their dimension value is the name of the queue's table. */
  metrics: Object.keys(AGENT_METRICS) as AgentMetricName[],
  /** Outputs that the stack always has. */
  outputs: [
    'AgentTableName',
    'CallQueueUrl',
    'AssignmentTopicArn',
    'AgentDeskFunctionName',
    'CallDeadLetterQueueUrl',
  ],
  /** Outputs that exist only if the stack has a dashboard. */
  optionalOutputs: { dashboard: ['DashboardUrl'] },
} as const;

export type AgentMetricName = keyof typeof AGENT_METRICS;

export type AgentOutputName = (typeof AGENT_QUEUE.outputs)[number];

export type AgentFunctionName = keyof typeof AGENT_QUEUE.environment;
