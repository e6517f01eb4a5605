import { ENVIRONMENT } from '../../contract/tasks';
import { fields, fieldsOf, isOneOf } from '../../shared/telemetry/log-line';
import { errorsQuery, type SavedQuery, storyQuery } from '../../shared/telemetry/saved-queries';
import { TASK_LINES } from './log-lines';

const { run, turn, wakeUp, sweep, leaseExpired, notInserted, taskShed } = TASK_LINES;
const ALL = Object.keys(ENVIRONMENT);

const story = fieldsOf(run, leaseExpired, notInserted, taskShed);
const ran = fieldsOf(run);
const failed = fieldsOf(notInserted);
const woke = fieldsOf(wakeUp, sweep, turn);

export const TASK_QUERIES = {
  'task-story': storyQuery(ALL, 'task', 'its id', {
    id: story.task_id,
    shown: [
      story.message,
      story.attempt,
      story.outcome,
      story.response,
      story.http_status,
      story.age_ms,
      story.duration_ms,
      story.due_ms,
      story.status,
      story.error,
    ],
  }),
  'failures-by-response': {
    name: 'failures by response',
    shows:
      "how many runs did not succeed, by the result for the task, the runner's response and its status code",
    of: ['process-tasks'],
    query: [
      `filter ${isOneOf(run)}`,
      `filter ${ran.outcome} != "succeeded"`,
      `stats count(*) as runs, count_distinct(${ran.task_id}) as tasks, latest(${ran.task_id}) as example by ${ran.outcome}, ${ran.response}, ${ran.http_status}`,
      'sort runs desc',
    ],
  },
  errors: errorsQuery(ALL, failed.error),
  'slowest-runs': {
    name: 'slowest runs',
    shows: 'the fifty runs that took longest',
    of: ['process-tasks'],
    query: [
      fields('@timestamp', ran.task_id, ran.attempt, ran.outcome, ran.duration_ms, ran.age_ms),
      `filter ${isOneOf(run)}`,
      `sort ${ran.duration_ms} desc`,
      'limit 50',
    ],
  },
  'age-at-start': {
    name: 'age at start',
    shows: 'age of tasks at their start, minute by minute, in milliseconds',
    of: ['process-tasks'],
    query: [
      `filter ${isOneOf(run)}`,
      `stats pct(${ran.age_ms}, 50) as median, pct(${ran.age_ms}, 95) as p95, max(${ran.age_ms}) as oldest by bin(1m)`,
    ],
  },
  'wake-ups': {
    name: 'wake-ups',
    shows: 'why each wake-up was requested, its result, and the result of each turn and sweep; newest first',
    of: ['trigger', 'process-tasks', 'sweep-tasks'],
    query: [
      fields(
        '@timestamp',
        woke.message,
        woke.reason,
        woke.tasks,
        woke.wake,
        woke.woke,
        woke.exit,
        woke.tail_call,
        woke.taken,
        woke.idle_turns,
        woke['span.requestId'],
      ),
      `filter ${isOneOf(wakeUp, sweep, turn)}`,
      'sort @timestamp desc',
      'limit 500',
    ],
  },
} as const satisfies Readonly<Record<string, SavedQuery>>;

export const GROUP_QUERIES = {
  'busiest-groups': {
    name: 'busiest groups',
    shows: 'the ten groups with the most runs, and the time of their runs in seconds',
    of: ['process-tasks'],
    query: [
      `filter ${isOneOf(run)}`,
      `parse ${ran.task_id} /^(?<group>[^\\/]*)\\//`,
      `stats count(*) as runs, sum(${ran.duration_ms}) / 1000 as seconds by group`,
      'sort runs desc',
      'limit 10',
    ],
  },
} as const satisfies Readonly<Record<string, SavedQuery>>;
