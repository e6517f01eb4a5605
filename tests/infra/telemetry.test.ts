import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_LINES } from '../../infra/agents/telemetry/log-lines';
import { AGENT_QUERIES } from '../../infra/agents/telemetry/queries';
import { AGENT_METRICS } from '../../infra/contract/agent-metrics';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import type { DeclaredMetric } from '../../infra/contract/declared-metric';
import { TASK_METRICS } from '../../infra/contract/task-metrics';
import { ENVIRONMENT } from '../../infra/contract/tasks';
import { EVERY_LINE, type LogLine } from '../../infra/shared/telemetry/log-line';
import type { SavedQuery } from '../../infra/shared/telemetry/saved-queries';
import { TASK_LINES } from '../../infra/tasks/telemetry/log-lines';
import { TASK_QUERIES } from '../../infra/tasks/telemetry/queries';
import { ROOT } from './synthesis';

/** Declared telemetry for one kind of queue. */
interface Telemetry {
  readonly kind: string;
  readonly functions: readonly string[];
  readonly metrics: Readonly<Record<string, DeclaredMetric>>;
  readonly lines: Readonly<Record<string, LogLine>>;
  readonly queries: Readonly<Record<string, SavedQuery>>;
  /** Folders with the functions' Rust sources. */
  readonly sources: readonly string[];
}

const QUEUES: readonly Telemetry[] = [
  {
    kind: 'task queue',
    functions: Object.keys(ENVIRONMENT),
    metrics: TASK_METRICS,
    lines: TASK_LINES,
    queries: TASK_QUERIES,
    sources: [
      'crates/lifo-queue',
      'crates/functions/src',
      ...Object.keys(ENVIRONMENT).map((fn) => `lambdas/${fn}`),
    ],
  },
  {
    kind: "agents' queue",
    functions: Object.keys(AGENT_QUEUE.environment),
    metrics: AGENT_METRICS,
    lines: AGENT_LINES,
    queries: AGENT_QUERIES,
    sources: ['crates/agent-queue', ...Object.keys(AGENT_QUEUE.environment).map((fn) => `lambdas/${fn}`)],
  },
];

/** Returns the log lines in a folder's Rust code: `tracing::info!(…, "message")` becomes message, level and fields. */
function loggedIn(folder: string): { message: string; level: string; fields: string[] }[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.rs'))
    .map((file) => readFileSync(join(ROOT, folder, file), 'utf8'))
    .flatMap((source) => [...source.matchAll(/tracing::(info|warn|error)!\(([^;]*?)"([^"]+)"\s*\)/g)])
    .map(([, level = '', fields = '', message = '']) => ({
      message,
      level: level.toUpperCase(),
      fields: fields
        .split(/,(?![^(]*\))/)
        .map((field) => field.trim().replace(/^[%?]/, '').split(/\s*=/)[0] ?? '')
        .filter((field) => field !== ''),
    }));
}

describe.each(QUEUES)('the telemetry of the $kind', ({ functions, metrics, lines, queries, sources }) => {
  test.each(Object.values(lines))(
    'has the line "$message" with its fields, as the sources log it',
    (line) => {
      const logged = sources.flatMap(loggedIn).filter(({ message }) => message === line.message);
      expect(logged).toEqual([
        { message: line.message, level: line.level, fields: Object.keys(line.fields) },
      ]);
    },
  );

  test('names only functions of the queue', () => {
    const named = [
      ...Object.values(metrics).flatMap(({ by }) => by),
      ...Object.values(lines).flatMap(({ by }) => by),
      ...Object.values(queries).flatMap(({ of }) => of),
    ];
    expect(functions).toEqual(expect.arrayContaining(named));
  });

  test('uses the unit Seconds for metrics whose names end in Seconds and Count for all others', () => {
    for (const [name, { unit }] of Object.entries(metrics))
      expect([name, unit]).toEqual([name, name.endsWith('Seconds') ? 'Seconds' : 'Count']);
  });

  test.each(Object.values(queries))(
    'has the query "$name", which reads logs that contain its lines',
    ({ of, query }) => {
      const wanted = Object.values(lines).filter(({ message }) =>
        query.some((command) => command.startsWith('filter ') && command.includes(`"${message}"`)),
      );
      for (const { by } of wanted) expect(of.filter((fn) => by.includes(fn))).not.toEqual([]);
    },
  );
});

test('no log line declares a field that every line has', () => {
  for (const { lines } of QUEUES)
    for (const { fields } of Object.values(lines))
      expect(Object.keys(EVERY_LINE).filter((field) => field in fields)).toEqual([]);
});
