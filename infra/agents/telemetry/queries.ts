import { AGENT_QUEUE } from '../../contract/agents';
import { fieldsOf, isOneOf } from '../../shared/telemetry/log-line';
import { errorsQuery, type SavedQuery, storyQuery } from '../../shared/telemetry/saved-queries';
import { AGENT_LINES } from './log-lines';

const { command, calls, assignment, leaseExpired, expired, sweep, stepFailed } = AGENT_LINES;
const ALL = Object.keys(AGENT_QUEUE.environment);

const met = fieldsOf(command, assignment, leaseExpired, expired);
const failed = fieldsOf(stepFailed);
const matched = fieldsOf(command, calls, sweep);
const told = fieldsOf(command);

export const AGENT_QUERIES = {
  'agent-story': storyQuery(ALL, 'agent', "the agent's id", {
    id: met.agent,
    shown: [met.message, met.command, met.call, met.criteria, met.rejected],
  }),
  'call-story': storyQuery(ALL, 'call', "the call's id", {
    id: met.call,
    shown: [met.message, met.command, met.agent, met.criteria, met.rejected],
  }),
  errors: errorsQuery(ALL, failed.error),
  'rejected-commands': {
    name: 'rejected commands',
    shows: 'how many commands were rejected, by reason',
    of: ['agent-desk'],
    query: [
      `filter ${isOneOf(command)}`,
      `filter ispresent(${told.rejected})`,
      `stats count(*) as commands, latest(${told.agent}) as example by ${told.command}, ${told.rejected}`,
      'sort commands desc',
    ],
  },
  matches: {
    name: 'matches',
    shows: 'how many calls got an agent, became pending or expired, in steps of five minutes',
    of: ALL,
    query: [
      `filter ${isOneOf(command, calls, sweep)}`,
      `stats sum(${matched.assigned}) as got_an_agent, sum(${matched.queued}) as became_pending, sum(${matched.expired}) as went_to_the_dead_letters by bin(5m)`,
    ],
  },
} as const satisfies Readonly<Record<string, SavedQuery>>;
