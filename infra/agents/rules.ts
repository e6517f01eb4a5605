import { AGENT_QUEUE } from '../contract/agents';
import { type Problem, problemIf } from '../shared/problem';
import { ms, seconds, text } from '../shared/ranges';
import { rangeProblems } from '../shared/setting';
import { dimensionProblems } from './dimension-rules';
import { AGENTS, type AgentQueueSettings, ALARMS, CALLS } from './settings';

/** Retention of the call queue and its dead-letter queue, in milliseconds: 14 days, the SQS maximum. */
const RETENTION_MS = 14 * 24 * 60 * 60 * 1_000;

/** Maximum interval between sweeps, in milliseconds: one hour. An alarm evaluates five intervals as one period. */
const LONGEST_SWEEP_MS = 60 * 60 * 1_000;

/** Returns the problems with the settings, or an empty list if they are valid. */
export function agentSettingsProblems(settings: AgentQueueSettings): Problem[] {
  return [
    ...rangeProblems('agents', AGENTS, settings.agents),
    ...rangeProblems('calls', CALLS, settings.calls),
    ...rangeProblems('alarms', ALARMS, settings.alarms),
    ...orderProblems(settings),
    ...dimensionProblems(settings.agents.dimensions),
    ...sweepProblems(settings),
    ...visibilityProblems(settings),
    ...alarmProblems(settings),
  ];
}

function orderProblems({ agents: { order } }: AgentQueueSettings): Problem[] {
  return problemIf(
    !AGENT_QUEUE.orders.includes(order),
    'agents.order',
    `"${String(order)}" is not a valid order`,
    `choose one of ${AGENT_QUEUE.orders.join(', ')}`,
  );
}

function sweepProblems({ agents: { sweepInterval } }: AgentQueueSettings): Problem[] {
  const interval = ms(sweepInterval);
  return problemIf(
    !(interval >= 60_000 && interval <= LONGEST_SWEEP_MS && interval % 60_000 === 0),
    'agents.sweepInterval',
    `${text(sweepInterval)} is not a whole number of minutes from 1 to 60: EventBridge Scheduler counts in minutes, and expired calls and agents with expired leases wait for the sweep`,
    'choose a whole number of minutes from 1 to 60; 1 is suitable',
  );
}

function visibilityProblems({ calls }: AgentQueueSettings): Problem[] {
  const held = ms(calls.visibilityTimeout) * calls.maxReceiveCount;
  return problemIf(
    held >= RETENTION_MS,
    'calls.maxReceiveCount',
    `${calls.maxReceiveCount} attempts of ${text(calls.visibilityTimeout)} each take ${seconds(held)}, and SQS deletes a message after ${seconds(RETENTION_MS)}: it would be lost before it reached the dead-letter queue`,
    'lower maxReceiveCount or functionTimeout',
  );
}

function alarmProblems({ calls, alarms }: AgentQueueSettings): Problem[] {
  return [
    ...problemIf(
      ms(alarms.oldestPending) >= ms(calls.maxWait),
      'alarms.oldestPending',
      `no call is pending for ${text(alarms.oldestPending)}, because it expires after ${text(calls.maxWait)}: the alarm would hardly ever fire`,
      'make oldestPending shorter than calls.maxWait',
    ),
    ...problemIf(
      ms(alarms.intakeDelay) <= ms(calls.visibilityTimeout),
      'alarms.intakeDelay',
      `one crashed invocation delays its messages by ${text(calls.visibilityTimeout)}: the alarm would fire although a retry succeeds`,
      `make intakeDelay longer than ${text(calls.visibilityTimeout)}, for example by a minute, or omit it`,
    ),
  ];
}
