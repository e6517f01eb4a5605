import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TABLE } from '../../infra/contract/tasks';
import { settingsProblems } from '../../infra/tasks/rules';
import { resolveSettings } from '../../infra/tasks/settings';
import type { AdmissionSettings } from '../../infra/tasks/settings/ingest';
import { ROOT, Synthesized } from './synthesis';

const plain = Synthesized.queue({ ingest: {} });
const admitting = Synthesized.queue({ ingest: { admission: {} } });

test('admission is off by default', () => {
  expect(plain.settings('ingest-tasks').ingest).not.toHaveProperty('admission');
  expect(plain.settings('process-tasks')).not.toHaveProperty('publishCapacity');
});

test.each<[AdmissionSettings, object]>([
  [{}, { factor: 3, mostHeld: 120_000 }],
  [
    { factor: 5, prefer: 'fresh' },
    { factor: 5, mostHeld: 10_000 },
  ],
])('admission %j reaches both functions', (admission, expected) => {
  const synthesized = Synthesized.queue({ ingest: { admission } });
  expect(synthesized.settings('ingest-tasks').ingest.admission).toEqual(expected);
  expect(synthesized.settings('process-tasks').publishCapacity).toBe(true);
});

test('ingest-tasks can write the meter and read the control item only if admission is enabled', () => {
  const policy = (synthesized: Synthesized) => JSON.stringify(synthesized.policy('ingest-tasks/role'));
  for (const item of [TABLE.ingestItem, TABLE.controlItem]) {
    expect(policy(plain)).not.toContain(item);
    expect(policy(admitting)).toContain(item);
  }
});

test('an alarm fires for each minute in which tasks are not admitted', () => {
  const alarm = admitting.at('observability/not-admitted-alarm').Properties;
  expect(alarm.AlarmDescription).toMatch(/\bFirst .*"A storm is not admitted"\.$/);
  const runbook = readFileSync(join(ROOT, 'docs/how-to/runbook-tasks.md'), 'utf8');
  expect(runbook).toContain('\n## A storm is not admitted\n');
  expect(alarm).toMatchObject({
    MetricName: 'TasksNotAdmitted',
    Statistic: 'Sum',
    Threshold: 0,
    ComparisonOperator: 'GreaterThanThreshold',
  });
  expect(() => plain.at('observability/not-admitted-alarm')).toThrow();
});

test.each<[string, object]>([
  ['ingest.admission.factor', { factor: 0 }],
  ['ingest.admission.factor', { factor: 1.5 }],
  ['ingest.admission.prefer', { prefer: 'cheap' }],
])('%s rejects %j', (setting, admission) => {
  const problems = settingsProblems(resolveSettings({ ingest: { admission } }));
  expect(problems.map((problem) => problem.setting)).toEqual([setting]);
});
