import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { ALARMS as AGENT_ALARMS, AGENTS, CALLS } from '../../infra/agents/settings';
import type { Declared } from '../../infra/shared/setting';
import { ALARMS } from '../../infra/tasks/settings/alarms';
import { INGEST } from '../../infra/tasks/settings/ingest';
import { BREAKER, PROCESSING } from '../../infra/tasks/settings/processing';
import { STREAM } from '../../infra/tasks/settings/stream';
import { TASKS } from '../../infra/tasks/settings/tasks';
import { TRACES } from '../../infra/tasks/settings/traces';
import { Declarations } from './declarations';
import { ROOT } from './files';

const GROUPS: readonly [string, Readonly<Record<string, Declared>>][] = [
  ['TaskSettings', TASKS],
  ['ProcessingSettings', PROCESSING],
  ['BreakerSettings', BREAKER],
  ['StreamSettings', STREAM],
  ['IngestSettings', INGEST],
  ['AlarmSettings', ALARMS],
  ['TraceSettings', TRACES],
  ['AgentSettings', AGENTS],
  ['CallSettings', CALLS],
  ['AgentAlarmSettings', AGENT_ALARMS],
];

const DECLARATIONS = new Declarations();

/** Returns the value of a documented default up to the first comma: a duration in milliseconds, a number, or the text. */
function spelled(documented: string): unknown {
  const [text = ''] = documented.replaceAll(/['`]/g, '').split(', ');
  const [, amount, unit] = /^(\d+) (second|minute|hour|day)s?$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined) return /^[\d.]+$/.test(text) ? Number(text) : text;
  return Duration[`${unit}s` as 'seconds'](Number(amount)).toMilliseconds();
}

const declared = (fallback: unknown) =>
  fallback instanceof Duration
    ? fallback.toMilliseconds()
    : typeof fallback === 'boolean'
      ? String(fallback)
      : fallback;

test.each(GROUPS)('%s documents the defaults in its table', (name, table) => {
  const documented = Object.fromEntries(
    DECLARATIONS.properties(name).map((property) => [property.name, property.fallback ?? '']),
  );
  expect(Object.keys(documented).sort()).toEqual(Object.keys(table).sort());
  for (const [setting, { fallback }] of Object.entries(table)) {
    if (fallback === undefined || Array.isArray(fallback)) continue;
    expect([setting, spelled(documented[setting] ?? '')]).toEqual([setting, declared(fallback)]);
  }
});

test('docs/explanation/scaling.md quotes the default of ingest.maxConcurrency', () => {
  const page = readFileSync(join(ROOT, 'docs', 'explanation', 'scaling.md'), 'utf8');
  const quoted = [...page.matchAll(/[Tt]he default of (\d+)/g)].map(([, value]) => Number(value));
  expect(quoted).toEqual([INGEST.maxConcurrency.fallback, INGEST.maxConcurrency.fallback]);
});
