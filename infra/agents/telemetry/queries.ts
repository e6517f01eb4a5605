import { AGENT_QUEUE } from '../../contract/agents';
import { fields, fieldsOf, isOneOf } from '../../lambda/telemetry/log-line';
import { errorsQuery, PUT_ID_HERE, type SavedQuery } from '../../lambda/telemetry/saved-queries';
import { AGENT_LINES } from './log-lines';

const { command, calls, assignment, leaseExpired, expired, sweep, stepFailed } = AGENT_LINES;
const ALL = Object.keys(AGENT_QUEUE.environment);

const met = fieldsOf(command, assignment, leaseExpired, expired);
const failed = fieldsOf(stepFailed);
const matched = fieldsOf(command, calls, sweep);
const told = fieldsOf(command);

/** The saved queries of an agents' queue. */
export const AGENT_QUERIES = {
  'agent-story': {
    name: 'agent story',
    shows: `every line about one agent, oldest first; replace ${PUT_ID_HERE} with the agent's id`,
    of: ALL,
    query: [
      fields(
        '@timestamp',
        met.message,
        met.command,
        met.call,
        met.criteria,
        met.rejected,
        met['span.requestId'],
      ),
      `filter ${met.agent} = "${PUT_ID_HERE}"`,
      'sort @timestamp asc',
      'limit 1000',
    ],
  },
  'call-story': {
    name: 'call story',
    shows: `every line about one call, oldest first; replace ${PUT_ID_HERE} with the call's id`,
    of: ALL,
    query: [
      fields(
        '@timestamp',
        met.message,
        met.command,
        met.agent,
        met.criteria,
        met.rejected,
        met['span.requestId'],
      ),
      `filter ${met.call} = "${PUT_ID_HERE}"`,
      'sort @timestamp asc',
      'limit 1000',
    ],
  },
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
