import { expectCommitted } from '../infra/generated';
import { commandsPage } from './commands';
import { settingsPage } from './settings';
import { telemetryPage } from './telemetry';
import { alarmsPage, outputsPage, variablesPage } from './templates';

// `make docs` writes these pages.
test.each([
  ['settings', settingsPage],
  ['alarms', alarmsPage],
  ['outputs', outputsPage],
  ['environment-variables', variablesPage],
  ['commands', commandsPage],
  ['telemetry', telemetryPage],
])('docs/reference/%s.md is up to date', (name, page) => {
  expectCommitted(`docs/reference/${name}.md`, page());
});
