import { counter, type DeclaredMetric, gauge } from './declared-metric';

const ALL = ['agent-desk', 'match-calls', 'sweep-agents'];
const SWEEP = ['sweep-agents'];

/** The metrics of an agents' queue. */
export const AGENT_METRICS = {
  CallsAssigned: counter(ALL, 'calls that got an agent'),
  CallsQueued: counter(['agent-desk', 'match-calls'], 'calls that found no agent and became pending'),
  CallsCancelled: counter(['agent-desk'], 'pending calls that were cancelled'),
  CallsExpired: counter(ALL, 'calls pending for longer than `calls.maxWait`, moved to the dead-letter queue'),
  CallsRejected: counter(['match-calls'], 'invalid messages, moved to the dead-letter queue'),
  AgentsQueued: counter(['agent-desk'], 'agents that were queued'),
  AgentLeasesReturned: counter(SWEEP, 'agents made available because their call did not end in time'),
  AssignmentsPublished: counter(ALL, 'assignments published to the topic'),
  TransactionConflicts: counter(ALL, 'transactions that conflicted with another and were repeated'),
  LostMatches: counter(ALL, 'agents that were assigned elsewhere first; the queue tried the next agent'),
  AgentSweeps: counter(SWEEP, 'complete sweeps: one per interval'),
  QueuedAgents: gauge(SWEEP, 'agents queued for a call'),
  PendingCalls: gauge(SWEEP, 'pending calls'),
  OldestPendingCallSeconds: gauge(SWEEP, 'age of the oldest pending call; 0 if none is pending', 'Seconds'),
  UnpublishedAssignments: gauge(
    SWEEP,
    'assignments and expired calls that a sweep could not publish. A Minimum above 0 shows a lasting failure',
  ),
} as const satisfies Readonly<Record<string, DeclaredMetric>>;
