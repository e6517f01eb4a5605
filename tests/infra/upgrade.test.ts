import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fullDiff } from '@aws-cdk/cloudformation-diff';
import { RemovalPolicy } from 'aws-cdk-lib';
import { dataHazards } from '../../infra/diff/hazards';
import { ROOT, Synthesized } from './synthesis';

// The templates in `tests/infra/deployed` contain the resources with data, as release 0.1.0 deploys them. If a release
// changes these resources in its templates, add a file for it. After the release, do not change the existing files.
describe.each([
  ['LifoQueue-prod', Synthesized.environment('prod')],
  ['AgentQueue-prod', Synthesized.agents('prod')],
])('an update of a deployed %s', (name, now) => {
  const deployed = JSON.parse(readFileSync(join(ROOT, 'tests', 'infra', 'deployed', `${name}.json`), 'utf8'));
  const ids = Object.keys(deployed.Resources);
  const current = Object.fromEntries(
    now.resources
      .filter(([id]) => ids.includes(id))
      .map(
        ([
          id,
          {
            Properties: { Tags: _, ...Properties },
            ...resource
          },
        ]) => [id, { ...resource, Properties }],
      ),
  );

  test('finds every resource that holds data under its logical id', () => {
    expect(ids.length).toBeGreaterThan(5);
    expect(Object.keys(current).sort()).toEqual(ids.sort());
  });

  test('preserves these resources, their data and their protection', () => {
    expect(dataHazards(fullDiff(deployed, { Resources: current }))).toEqual([]);
  });
});

// In a rollback, CloudFormation changes the environment variables before the code. In between, the new code has no
// settings and fails (docs/how-to/upgrade.md).
test('a function that fails for a few seconds is retried and loses no events', () => {
  const tasks = Synthesized.queue({ ingest: {} });
  const agents = Synthesized.agentQueue();
  const retries = (synthesized: Synthesized, path: string) =>
    synthesized.at(`${path}/EventInvokeConfig`).Properties.MaximumRetryAttempts;
  expect(tasks.at('trigger/stream').Properties.MaximumRetryAttempts).toBeGreaterThan(1);
  expect(retries(tasks, 'process-tasks/function')).toBe(1);
  expect(retries(tasks, 'create-tasks/function')).toBe(2);
  for (const [synthesized, intake] of [
    [tasks, 'ingest/queue'],
    [agents, 'call-intake/queue'],
  ] as const)
    expect(synthesized.at(intake).Properties.RedrivePolicy.maxReceiveCount).toBeGreaterThan(5);
  for (const [synthesized, schedule] of [
    [tasks, 'sweep-tasks/every-minute'],
    [agents, 'sweep-agents/regularly'],
  ] as const)
    expect(synthesized.at(`${schedule}/schedule`).Properties.ScheduleExpression).toBe('rate(1 minute)');
});

describe('a first deployment that fails', () => {
  const KINDS = [
    ['a task queue', Synthesized.queue({ ingest: {} })],
    ["an agents' queue", Synthesized.agentQueue()],
  ] as const;
  test.each(KINDS)(
    'removes the queues and logs of %s, which a later stack deletion would retain',
    (_kind, template) => {
      const kept = ['AWS::SQS::Queue', 'AWS::Logs::LogGroup']
        .flatMap((type) => template.all(type))
        .filter(({ DeletionPolicy }) => DeletionPolicy !== 'Delete');
      expect(kept.length).toBeGreaterThan(3);
      for (const { DeletionPolicy, UpdateReplacePolicy } of kept)
        expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain']);
    },
  );

  test('retains a table only if its deletion protection would make the rollback fail', () => {
    const policyOf = (deletionProtection: boolean, removalPolicy = RemovalPolicy.RETAIN) => [
      Synthesized.queue({ deletionProtection, removalPolicy }).at('task-table/table').DeletionPolicy,
      Synthesized.agentQueue({ deletionProtection, removalPolicy }).at('agent-table').DeletionPolicy,
    ];
    expect(policyOf(true)).toEqual(['Retain', 'Retain']);
    expect(policyOf(false)).toEqual(['RetainExceptOnCreate', 'RetainExceptOnCreate']);
    expect(policyOf(false, RemovalPolicy.DESTROY)).toEqual(['Delete', 'Delete']);
  });
});

test.each([
  ['tasks', Synthesized.queue().at('task-table/table')],
  ['agents', Synthesized.agentQueue().at('agent-table')],
])('the table of %s in another app is protected by default', (_kind, table) => {
  expect([table.DeletionPolicy, table.UpdateReplacePolicy]).toEqual(['Retain', 'Retain']);
  expect(table.Properties.DeletionProtectionEnabled).toBe(true);
  expect(table.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
});
