import { Duration } from 'aws-cdk-lib';
import { agentSettingsProblems } from '../../infra/agents/rules';
import { ALARMS as AGENT_ALARMS, AGENTS, CALLS, resolveAgentSettings } from '../../infra/agents/settings';
import { type Declared, rangeProblems } from '../../infra/shared/setting';
import { settingsProblems } from '../../infra/tasks/rules';
import { resolveSettings } from '../../infra/tasks/settings';
import { ALARMS } from '../../infra/tasks/settings/alarms';
import { INGEST } from '../../infra/tasks/settings/ingest';
import { CODEL, GROUPS, PROCESSING } from '../../infra/tasks/settings/processing';
import { STREAM } from '../../infra/tasks/settings/stream';
import { TASKS } from '../../infra/tasks/settings/tasks';
import { TRACES } from '../../infra/tasks/settings/traces';

const ofTasks = (settings: object) => settingsProblems(resolveSettings(settings));
const ofAgents = (settings: object) => agentSettingsProblems(resolveAgentSettings(settings));

/** Settings required besides the tested one, by group: each `codel` setting requires the other. */
const OTHERS: Readonly<Record<string, object>> = {
  'processing.codel': { target: Duration.seconds(1), interval: Duration.seconds(5) },
};

describe.each<
  [string, string, Readonly<Record<string, Declared>>, (settings: object) => { setting: string }[]]
>([
  ['a task queue', 'tasks', TASKS, ofTasks],
  ['a task queue', 'processing', PROCESSING, ofTasks],
  ['a task queue', 'processing.codel', CODEL, ofTasks],
  ['a task queue', 'processing.groups', GROUPS, ofTasks],
  ['a task queue', 'stream', STREAM, ofTasks],
  ['a task queue', 'ingest', INGEST, ofTasks],
  ['a task queue', 'alarms', ALARMS, ofTasks],
  ['a task queue', 'traces', TRACES, ofTasks],
  ["an agents' queue", 'agents', AGENTS, ofAgents],
  ["an agents' queue", 'calls', CALLS, ofAgents],
  ["an agents' queue", 'alarms', AGENT_ALARMS, ofAgents],
])('of %s, %s', (_kind, path, group, problems) => {
  const ranges = Object.entries(group).flatMap(([name, { bounds }]) =>
    bounds ? [[name, bounds] as const] : [],
  );

  test.each(ranges)('.%s is accepted at its bounds and rejected outside them', (name, bounds) => {
    for (const value of bounds) expect(rangeProblems(path, group, { [name]: value })).toEqual([]);
    for (const value of outside(bounds)) {
      const settings: object = { ...OTHERS[path], [name]: value };
      const given = path.split('.').reduceRight((inner, key) => ({ [key]: inner }), settings);
      expect(problems(given).map(({ setting }) => setting)).toContain(`${path}.${name}`);
    }
  });
});

/** Returns a value below the range, possibly a fraction of a second, and one above. Durations are never negative. */
function outside([least, greatest]: readonly [unknown, unknown]): unknown[] {
  if (!(least instanceof Duration && greatest instanceof Duration))
    return [Number(least) - 1, Number(greatest) + 1];
  const below = least.toMilliseconds() - 1;
  return [...(below < 0 ? [] : [Duration.millis(below)]), greatest.plus(Duration.seconds(1))];
}
