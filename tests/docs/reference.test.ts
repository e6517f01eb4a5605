import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectCommitted } from '../infra/generated';
import { commandsPage } from './commands';
import { fixedCostsPage, idleCost, quotedCosts, tracesTable } from './costs';
import { createTasksPage } from './create-tasks';
import { ROOT } from './files';
import { settingsPage } from './settings';
import { QUOTING_FILES, withStatusCodes } from './status-codes';
import { telemetryPage } from './telemetry';
import { alarmsPage, outputsPage, variablesPage } from './templates';

// `make docs` generates these pages.
test.each([
  ['settings', settingsPage],
  ['alarms', alarmsPage],
  ['outputs', outputsPage],
  ['environment-variables', variablesPage],
  ['commands', commandsPage],
  ['create-tasks', createTasksPage],
  ['telemetry', telemetryPage],
  ['fixed-costs', fixedCostsPage],
])('docs/reference/%s.md is up to date', (name, page) => {
  expectCommitted(`docs/reference/${name}.md`, page());
});

// `make docs` generates the codes.
test.each(QUOTING_FILES)("%s quotes the HTTP runner's status codes", (file) => {
  expectCommitted(file, withStatusCodes(file));
});

test('docs/explanation/cost.md quotes the fixed costs of each queue', () => {
  const page = readFileSync(join(ROOT, 'docs', 'explanation', 'cost.md'), 'utf8');
  for (const cost of quotedCosts()) expect(page).toContain(cost);
});

test('the README quotes the cost of an idle task queue', () => {
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(idleCost());
});

test('docs/explanation/cost.md contains the cost of traces', () => {
  expect(readFileSync(join(ROOT, 'docs', 'explanation', 'cost.md'), 'utf8')).toContain(tracesTable());
});
