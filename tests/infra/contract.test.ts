import { EventBus } from 'aws-cdk-lib/aws-events';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { ENVIRONMENT_NAMES } from '../../infra/environments/list';
import { settingsVariable } from '../../infra/shared/function-settings';
import { makefiles } from '../docs/commands';
import { CONTRACT, contractText } from './contract';
import { expectCommitted } from './generated';
import { environment, Synthesized } from './synthesis';

const contract = JSON.parse(JSON.stringify(CONTRACT));

/** Returns the variables that a function reads: names, ARNs, URLs, and the settings variable if it has settings. */
function read(fn: string, variables: string[]): string[] {
  return [...variables, ...(fn in CONTRACT.settings.defaults ? [settingsVariable(fn)] : [])].sort();
}

/** Returns the contract's environment variables that the template sets for a function. */
function given(synthesized: Synthesized, fn: string): string[] {
  const known = new Set(
    Object.values<string[]>({ ...contract.environment, ...contract.agentQueue.environment }).flat(),
  );
  const variables = Object.keys(synthesized.fn(fn).Environment.Variables);
  return variables.filter((name) => known.has(name) || name.startsWith('SETTINGS_')).sort();
}

// `make docs` generates this file.
test('tests/contract.json is up to date', () => {
  expectCommitted('tests/contract.json', contractText());
});

test('make builds exactly the functions that the stacks deploy', () => {
  const [, built = ''] = /^FUNCTIONS := (.+)$/m.exec(makefiles()) ?? [];
  expect(built.split(' ')).toEqual([
    ...Object.keys(contract.environment),
    ...Object.keys(contract.agentQueue.environment),
  ]);
});

describe.each(ENVIRONMENT_NAMES)('the template of %s', (name) => {
  const synthesized = Synthesized.environment(name);

  test.each(Object.entries(contract.environment as Record<string, string[]>))(
    "gives %s the contract's variables",
    (fn, variables) => {
      const optional = (variable: string) => contract.optionalEnvironment.includes(variable);
      const required = read(fn, variables).filter((variable) => !optional(variable));
      expect(given(synthesized, fn).filter((variable) => !optional(variable))).toEqual(required);
      expect(read(fn, variables)).toEqual(expect.arrayContaining(given(synthesized, fn)));
    },
  );

  test("has the contract's outputs, including the optional ones for its shed queue, ingest queue and dashboard", () => {
    const { shedTasks, ingest, dashboard } = contract.optionalOutputs;
    const kept = environment(name).keepShedTasks ? shedTasks : [];
    const taken = environment(name).settings?.ingest === undefined ? [] : ingest;
    expect(Object.keys(synthesized.outputs)).toEqual([...contract.outputs, ...taken, ...kept, ...dashboard]);
  });

  test("has the contract's key, index and projection", () => {
    const { Properties } = synthesized.at('task-table/table');
    const [index] = Properties.GlobalSecondaryIndexes;
    expect(Properties.KeySchema).toEqual([{ AttributeName: contract.table.key, KeyType: 'HASH' }]);
    expect(index.IndexName).toBe(contract.table.index);
    expect(index.KeySchema.map((key: { AttributeName: string }) => key.AttributeName)).toEqual([
      contract.table.indexPartitionKey,
      contract.table.indexSortKey,
    ]);
    expect(index.Projection.NonKeyAttributes).toEqual(contract.table.indexProjection);
  });
});

test('every optional variable is set if its resource is configured', () => {
  const synthesized = Synthesized.of((stack) => ({
    ingest: {},
    shedTasksTo: new Queue(stack, 'shed'),
    taskEventsTo: new EventBus(stack, 'ends'),
  }));
  for (const [fn, variables] of Object.entries(contract.environment as Record<string, string[]>)) {
    expect(given(synthesized, fn)).toEqual(read(fn, variables));
  }
});

test("every function gets the contract's default settings", () => {
  const tasks = Synthesized.queue({ ingest: {} });
  const agents = Synthesized.agentQueue();
  for (const [fn, settings] of Object.entries(contract.settings.defaults)) {
    expect((fn in contract.environment ? tasks : agents).settings(fn)).toEqual(settings);
  }
});

describe.each(ENVIRONMENT_NAMES)("the template of %s's agents' queue", (name) => {
  const { agentQueue } = contract;
  const synthesized = Synthesized.agents(name);

  test.each(Object.entries(agentQueue.environment as Record<string, string[]>))(
    "gives %s the contract's variables",
    (fn, variables) => {
      expect(given(synthesized, fn)).toEqual(read(fn, variables));
    },
  );

  test("has the contract's outputs and keys", () => {
    const outputs = [...agentQueue.outputs, ...agentQueue.optionalOutputs.dashboard];
    expect(Object.keys(synthesized.outputs)).toEqual(outputs);
    expect(synthesized.at('agent-table').Properties.KeySchema).toEqual([
      { AttributeName: agentQueue.table.partitionKey, KeyType: 'HASH' },
      { AttributeName: agentQueue.table.sortKey, KeyType: 'RANGE' },
    ]);
  });
});
