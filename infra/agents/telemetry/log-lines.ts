import { logLine } from '../../lambda/telemetry/log-line';

/** Log lines of the functions of an agents' queue. `tests/contract.json` has their fields too. */
export const AGENT_LINES = {
  command: logLine({
    message: 'command',
    level: 'INFO',
    by: ['agent-desk'],
    when: 'once for each command',
    fields: {
      command: 'name of the command',
      agent: 'id of the agent that the command names',
      call: 'id of the call that the command names',
      rejected: 'reason of the rejection; absent if the command was not rejected',
      assigned: 'calls that got an agent',
      queued: 'new calls that became pending',
      cancelled: 'calls that were cancelled',
      expired: 'calls that expired',
      agents_queued: 'agents that were queued',
      published: 'assignments published',
      dead_lettered: 'expired calls sent to the dead-letter queue',
      unpublished: 'assignments that the sweep has to publish',
    },
  }),
  calls: logLine({
    message: 'calls',
    level: 'INFO',
    by: ['match-calls'],
    when: 'once for each batch of messages',
    fields: {
      messages: 'messages of the batch',
      assigned: 'calls that got an agent',
      queued: 'new calls that became pending',
      expired: 'calls that expired',
      rejected: 'invalid messages',
      published: 'assignments published',
      dead_lettered: 'expired calls sent to the dead-letter queue',
      unpublished: 'assignments that the sweep has to publish',
      returned: 'messages to be redelivered',
    },
  }),
  assignment: logLine({
    message: 'assignment published',
    level: 'INFO',
    by: ['agent-desk', 'match-calls', 'sweep-agents'],
    when: 'for each assignment that reached the topic',
    fields: {
      agent: "the agent's id",
      call: "the call's id",
      criteria: 'what the call asked for',
    },
  }),
  leaseExpired: logLine({
    message: 'call lease expired',
    level: 'WARN',
    by: ['sweep-agents'],
    when: 'for each agent that the sweep made available, because the call did not end within `agents.callLease`',
    fields: {
      agent: "the agent's id",
      call: "the call's id",
    },
  }),
  expired: logLine({
    message: 'expired call sent to the dead-letter queue',
    level: 'WARN',
    by: ['agent-desk', 'match-calls', 'sweep-agents'],
    when: 'for each call that was pending for longer than `calls.maxWait`',
    fields: {
      call: "the call's id",
    },
  }),
  stepFailed: logLine({
    message: 'a step of the sweep failed; the others go on',
    level: 'ERROR',
    by: ['sweep-agents'],
    when: 'for each step that failed',
    fields: {
      error: 'what failed',
    },
  }),
  sweep: logLine({
    message: 'sweep',
    level: 'INFO',
    by: ['sweep-agents'],
    when: 'at the end of each sweep',
    fields: {
      returned: 'agents made available because their call did not end in time',
      assigned: 'calls that got an agent',
      expired: 'calls that expired',
      published: 'assignments published',
      dead_lettered: 'expired calls sent to the dead-letter queue',
      unpublished: 'assignments and expired calls that the sweep could not publish',
      queued_agents: 'queued agents',
      waiting_calls: 'pending calls',
      oldest_waiting_ms: 'how long the oldest pending call has been pending, in milliseconds',
      complete: 'whether all steps of the sweep finished',
    },
  }),
} as const;
