import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { agentSettingsProblems } from '../../infra/agents/rules';
import {
  type Dimension,
  MATCH_MARGIN_S,
  type PartialAgentQueueSettings,
  resolveAgentSettings,
} from '../../infra/agents/settings';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { InvalidConfiguration } from '../../infra/shared/problem';
import { ROOT, Synthesized } from './synthesis';

const { seconds, minutes, hours } = Duration;

function rejected(settings: PartialAgentQueueSettings): string[] {
  return agentSettingsProblems(resolveAgentSettings(settings)).map(({ setting }) => setting);
}

const LANGUAGE: Dimension = { name: 'language', attribute: 'Languages', multiValued: true };
const GENDER: Dimension = { name: 'gender', attribute: 'Gender' };
const singles = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `d${n}`, attribute: `D${n}` }));

test('the defaults are accepted', () => {
  expect(rejected({})).toEqual([]);
});

test('an explicit undefined is treated as omitted', () => {
  const given = { agents: { order: undefined }, calls: { maxWait: undefined, functionTimeout: undefined } };
  expect(resolveAgentSettings(given)).toEqual(resolveAgentSettings({}));
});

test.each<[string, PartialAgentQueueSettings, string]>([
  ['an invalid order', { agents: { order: 'random' as 'fifo' } }, 'agents.order'],
  ['a sweep every 90 seconds', { agents: { sweepInterval: seconds(90) } }, 'agents.sweepInterval'],
  ['a sweep interval of zero', { agents: { sweepInterval: seconds(0) } }, 'agents.sweepInterval'],
  ['a sweep every two hours', { agents: { sweepInterval: hours(2) } }, 'agents.sweepInterval'],
  [
    'more attempts than the SQS retention allows',
    { calls: { functionTimeout: minutes(15), maxReceiveCount: 224 } },
    'calls.maxReceiveCount',
  ],
  ['an alarm at the call expiry', { alarms: { oldestPending: minutes(5) } }, 'alarms.oldestPending'],
  ['an alarm that one retry triggers', { alarms: { intakeDelay: seconds(180) } }, 'alarms.intakeDelay'],
  ['no dimension', { agents: { dimensions: [] } }, 'agents.dimensions'],
  ['six dimensions', { agents: { dimensions: [LANGUAGE, ...singles(5)] } }, 'agents.dimensions'],
  [
    'a name with a separator',
    { agents: { dimensions: [{ ...LANGUAGE, name: 'a#b' }] } },
    'agents.dimensions[0].name',
  ],
  ['no name', { agents: { dimensions: [{ ...LANGUAGE, name: '' }] } }, 'agents.dimensions[0].name'],
  [
    'no attribute',
    { agents: { dimensions: [{ ...LANGUAGE, attribute: '' }] } },
    'agents.dimensions[0].attribute',
  ],
  ...AGENT_QUEUE.reservedAttributes.map((attribute): [string, PartialAgentQueueSettings, string] => [
    `the table's own attribute ${attribute}`,
    { agents: { dimensions: [LANGUAGE, { ...GENDER, attribute }] } },
    'agents.dimensions[1].attribute',
  ]),
  [
    'a name of 65 characters',
    { agents: { dimensions: [{ ...LANGUAGE, name: 'x'.repeat(65) }] } },
    'agents.dimensions[0].name',
  ],
  [
    'a duplicate name',
    { agents: { dimensions: [LANGUAGE, { ...GENDER, name: 'language' }] } },
    'agents.dimensions',
  ],
  [
    'a duplicate attribute',
    { agents: { dimensions: [LANGUAGE, { ...GENDER, attribute: 'Languages' }] } },
    'agents.dimensions',
  ],
])('rejected: %s', (_rule, settings, setting) => {
  expect(rejected(settings)).toContain(setting);
});

test.each<[string, PartialAgentQueueSettings]>([
  ['newest first', { agents: { order: 'lifo' } }],
  ['one dimension', { agents: { dimensions: [LANGUAGE] } }],
  ['no multi-valued dimension', { agents: { dimensions: [GENDER] } }],
  ['two multi-valued dimensions', { agents: { dimensions: [LANGUAGE, { ...GENDER, multiValued: true }] } }],
  ['five dimensions', { agents: { dimensions: [LANGUAGE, ...singles(4)] } }],
  [
    'durations of one second',
    { agents: { answerWithin: seconds(1), callLease: seconds(1) }, calls: { maxWait: seconds(2) } },
  ],
  ['a sweep every hour', { agents: { sweepInterval: hours(1) } }],
  [
    'a longer function timeout with derived visibility timeout and alarm',
    { calls: { functionTimeout: minutes(15) } },
  ],
  ['one call at a time', { calls: { batchSize: 1, maxConcurrency: 2, maxReceiveCount: 1 } }],
  ['an alarm one second before the call expiry', { alarms: { oldestPending: seconds(299) } }],
  ['an alarm at the first error', { alarms: { deskErrors: 0 } }],
])('accepted: %s', (_limit, settings) => {
  expect(rejected(settings)).toEqual([]);
});

test('the error contains every broken rule and its remedy', () => {
  const build = () =>
    Synthesized.agentQueue({
      agents: { dimensions: [], sweepInterval: seconds(30) },
      calls: { batchSize: 100, functionTimeout: seconds(6) },
    });
  expect(build).toThrow(InvalidConfiguration);
  expect(build).toThrow(/^test\/queue cannot work as configured:/);
  for (const part of [
    /agents\.dimensions: 0 dimensions are not 1 to 5.*Remedy: give 1 to 5/,
    /agents\.sweepInterval: 30 s is not a whole number of minutes from 1 to 60.*Remedy: choose a whole number of minutes from 1 to 60/,
    /calls\.batchSize: 100 is not a whole number from 1 to 10 \(SQS's limit for a FIFO queue\)/,
    /calls\.functionTimeout: 6 s is not a whole number of seconds in the range 7 s to 900 s/,
  ]) {
    expect(build).toThrow(part);
  }
});

test('the minimum timeout of match-calls leaves time to start a call', () => {
  expect(rejected({ calls: { functionTimeout: seconds(MATCH_MARGIN_S + 1) } })).toEqual([]);
  const source = readFileSync(join(ROOT, 'crates', 'agent-queue', 'src', 'intake', 'batch.rs'), 'utf8');
  expect(source).toContain(`MARGIN: Duration = Duration::from_secs(${MATCH_MARGIN_S});`);
});
