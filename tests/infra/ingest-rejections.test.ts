import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { InvalidConfiguration, type Problem } from '../../infra/shared/problem';
import { POSTPONED_MS } from '../../infra/tasks/ingest/rules';
import { settingsProblems } from '../../infra/tasks/rules';
import { resolveSettings } from '../../infra/tasks/settings';
import type { AlarmSettings } from '../../infra/tasks/settings/alarms';
import type { IngestSettings } from '../../infra/tasks/settings/ingest';
import { expectCommitted, markdownTable } from './generated';
import { ROOT, Synthesized } from './synthesis';

const { seconds, minutes, hours, days, millis } = Duration;

function problems(ingest: IngestSettings, alarms: AlarmSettings = {}): Problem[] {
  const resolved = resolveSettings({ ingest, alarms });
  return settingsProblems(resolved);
}

test('the defaults are accepted', () => {
  expect(problems({})).toEqual([]);
});

type Rejection = [configuration: string, setting: string, ingest: IngestSettings, alarms?: AlarmSettings];

/** Rejected settings, as in `docs/reference/ingest-rules.md`, each with exactly one problem. */
const REJECTED: Rejection[] = [
  ['batchSize: 0', 'ingest.batchSize', { batchSize: 0 }],
  ['batchSize: 10,001, batchWindow: 1 s', 'ingest.batchSize', { batchSize: 10_001, batchWindow: seconds(1) }],
  ['batchSize: 2.5', 'ingest.batchSize', { batchSize: 2.5 }],
  ['batchSize: 11, no batchWindow', 'ingest.batchWindow', { batchSize: 11 }],
  ['batchWindow: 500 ms', 'ingest.batchWindow', { batchWindow: millis(500) }],
  ['batchWindow: 301 s', 'ingest.batchWindow', { batchWindow: seconds(301) }],
  [
    'batchSize: 10,000, expectedWritesPerSecond: 399',
    'ingest.batchSize',
    { batchSize: 10_000, batchWindow: seconds(1), expectedWritesPerSecond: 399 },
  ],
  [
    'batchSize: 1,000, functionTimeout: 6 s',
    'ingest.batchSize',
    { batchSize: 1_000, batchWindow: seconds(1), functionTimeout: seconds(6) },
  ],
  ['expectedWritesPerSecond: 0', 'ingest.expectedWritesPerSecond', { expectedWritesPerSecond: 0 }],
  ['functionTimeout: 901 s', 'ingest.functionTimeout', { functionTimeout: seconds(901) }],
  ['functionTimeout: 5 s', 'ingest.functionTimeout', { functionTimeout: seconds(5) }],
  ['memorySize: 64', 'ingest.memorySize', { memorySize: 64 }],
  ['maxConcurrency: 1', 'ingest.maxConcurrency', { maxConcurrency: 1 }],
  ['maxConcurrency: 1,001', 'ingest.maxConcurrency', { maxConcurrency: 1_001 }],
  [
    'maxConcurrency: 10, provisionedPollers: 2 to 20',
    'ingest.maxConcurrency',
    { maxConcurrency: 10, provisionedPollers: { minimumPollers: 2, maximumPollers: 20 } },
  ],
  [
    'reservedConcurrency: 9, maxConcurrency: 10',
    'ingest.reservedConcurrency',
    { reservedConcurrency: 9, maxConcurrency: 10 },
  ],
  [
    'reservedConcurrency: 4, provisionedPollers: 2 to 20',
    'ingest.reservedConcurrency',
    { reservedConcurrency: 4, provisionedPollers: { minimumPollers: 2, maximumPollers: 20 } },
  ],
  ['reservedConcurrency: 10.5', 'ingest.reservedConcurrency', { reservedConcurrency: 10.5 }],
  [
    'provisionedPollers: 1 to 20',
    'ingest.provisionedPollers.minimumPollers',
    { provisionedPollers: { minimumPollers: 1, maximumPollers: 20 } },
  ],
  [
    'provisionedPollers: 201 to 500',
    'ingest.provisionedPollers.minimumPollers',
    { provisionedPollers: { minimumPollers: 201, maximumPollers: 500 } },
  ],
  [
    'provisionedPollers: 2 to 10,001',
    'ingest.provisionedPollers.maximumPollers',
    { provisionedPollers: { minimumPollers: 2, maximumPollers: 10_001 } },
  ],
  [
    'provisionedPollers: 20 to 10',
    'ingest.provisionedPollers.maximumPollers',
    { provisionedPollers: { minimumPollers: 20, maximumPollers: 10 } },
  ],
  ['maxReceiveCount: 4', 'ingest.maxReceiveCount', { maxReceiveCount: 4 }],
  [
    'maxReceiveCount: 1,001, retention: 13 d',
    'ingest.maxReceiveCount',
    { maxReceiveCount: 1_001, retention: days(13) },
  ],
  [
    'retention: 14 d, deadLetterRetention: 14 d',
    'ingest.deadLetterRetention',
    { retention: days(14), deadLetterRetention: days(14) },
  ],
  ['deadLetterRetention: 15 d', 'ingest.deadLetterRetention', { deadLetterRetention: days(15) }],
  ['retention: 3 min, functionTimeout: 30 s', 'ingest.retention', { retention: minutes(3) }],
  [
    'retention: 30 min, maxReceiveCount: 10, functionTimeout: 30 s',
    'ingest.retention',
    { retention: minutes(30) },
  ],
  [
    'retention: 95 min, maxReceiveCount: 10, visibilityMax: 15 min',
    'ingest.retention',
    { retention: minutes(95) },
  ],
  [
    'retention: 1 d, maxReceiveCount: 100, visibilityMax: 15 min',
    'ingest.retention',
    { maxReceiveCount: 100 },
  ],
  ['writeParallelism: 0', 'ingest.writeParallelism', { writeParallelism: 0 }],
  ['visibilityBase: 0 s', 'ingest.visibilityBase', { visibilityBase: seconds(0) }],
  ['visibilityMax: 13 h', 'ingest.visibilityMax', { visibilityMax: hours(13) }],
  [
    'visibilityBase: 60 s, visibilityMax: 30 s',
    'ingest.visibilityMax',
    { visibilityBase: seconds(60), visibilityMax: seconds(30) },
  ],
  [
    'alarms.ingestDelay: 180 s, functionTimeout: 30 s',
    'alarms.ingestDelay',
    {},
    { ingestDelay: seconds(180) },
  ],
  ['alarms.ingestDeadLetters: -1', 'alarms.ingestDeadLetters', {}, { ingestDeadLetters: -1 }],
];

test.each(REJECTED)('rejected: %s', (...[, setting, ingest, alarms]: Rejection) => {
  expect(problems(ingest, alarms).map((problem) => problem.setting)).toEqual([setting]);
});

type Accepted = [limit: string, ingest: IngestSettings, alarms?: AlarmSettings];

test.each<Accepted>([
  [
    'the largest batch that fits into the timeout',
    { batchSize: 10_000, batchWindow: seconds(1), expectedWritesPerSecond: 400 },
  ],
  ['ten messages without a window', { batchSize: 10 }],
  ['the minimum maxConcurrency', { maxConcurrency: 2 }],
  ['the maximum maxConcurrency', { maxConcurrency: 1_000 }],
  ['reservedConcurrency equal to maxConcurrency', { maxConcurrency: 20, reservedConcurrency: 20 }],
  ['both concurrency limits at two', { maxConcurrency: 2, reservedConcurrency: 2 }],
  [
    'a reservedConcurrency of five without maxConcurrency',
    { reservedConcurrency: 5, provisionedPollers: { minimumPollers: 2, maximumPollers: 2 } },
  ],
  ['the maximum number of pollers', { provisionedPollers: { minimumPollers: 200, maximumPollers: 10_000 } }],
  ['five receives', { maxReceiveCount: 5 }],
  ['the longest timeout', { functionTimeout: minutes(15), batchWindow: minutes(5) }],
  // Three times the visibility timeout, then 30 s for the function plus a backoff of 240, 480, and five times 900 s.
  ['a retention one second longer than all receives', { retention: seconds(540 + 270 + 510 + 5 * 930 + 1) }],
  ['an alarm one second after a failed attempt', {}, { ingestDelay: seconds(181) }],
])('accepted: %s', (...[, ingest, alarms]: Accepted) => {
  expect(problems(ingest, alarms)).toEqual([]);
});

test('a retention equal to the duration of all receives is rejected', () => {
  expect(problems({ retention: seconds(5_970) }).map(({ setting }) => setting)).toEqual(['ingest.retention']);
});

test('the ingest postpones throttled messages for the time in the rules', () => {
  const source = readFileSync(join(ROOT, 'crates/lifo-queue/src/ingest/backpressure.rs'), 'utf8');
  expect(source).toContain(`POSTPONED: Duration = Duration::from_secs(${POSTPONED_MS / 1_000});`);
});

test('the error contains every broken rule and its remedy', () => {
  const build = () => Synthesized.queue({ ingest: { batchSize: 11, maxConcurrency: 1 } });
  expect(build).toThrow(InvalidConfiguration);
  expect(build).toThrow(/ingest\.batchWindow: 0 s is too short for batchSize = 11.*Remedy: set batchWindow/);
  expect(build).toThrow(/ingest\.maxConcurrency: 1 is not a whole number from 2 to 1000/);
});

test('docs/reference/ingest-rules.md lists every rejection with its message', () => {
  const rows = REJECTED.flatMap(([configuration, , ingest, alarms]) =>
    problems(ingest, alarms).map(({ setting, rule, remedy }) => [
      configuration,
      `\`${setting}\`: ${rule}`,
      remedy,
    ]),
  );
  expectCommitted(
    'docs/reference/ingest-rules.md',
    `# What an ingest queue rejects

Written by \`make docs\`. Synthesis ends with one of these messages instead of deploying a configuration of \`ingest\` that cannot
work. The rules are in \`infra/tasks/ingest/rules.ts\`, and \`tests/infra/ingest-rejections.test.ts\` tries each.

${markdownTable(['configuration, all else by default', 'message', 'remedy'], rows)}
`,
  );
});
