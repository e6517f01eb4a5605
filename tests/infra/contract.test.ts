import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AGENT_LINES } from '../../infra/agents/telemetry/log-lines';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import {
  ENVIRONMENT,
  METRICS,
  OPTIONAL_ENVIRONMENT,
  OPTIONAL_OUTPUTS,
  OUTPUTS,
  TABLE,
} from '../../infra/contract/tasks';
import { ENVIRONMENT_NAMES } from '../../infra/environments/list';
import { EVERY_LINE, type LogLine } from '../../infra/lambda/telemetry/log-line';
import { TASK_LINES } from '../../infra/tasks/telemetry/log-lines';
import { environment, ROOT, Synthesized } from './synthesis';

const contract = JSON.parse(readFileSync(join(ROOT, 'tests', 'contract.json'), 'utf8'));

/** What the contract has of lines of the log: no meanings. */
function promised(lines: Readonly<Record<string, LogLine>>) {
  const entries = Object.values(lines).map(({ message, level, by, fields }) => [
    message,
    { level, by, fields: Object.keys(fields) },
  ]);
  return Object.fromEntries(entries);
}

test("TypeScript's names are the contract's, and nothing is missing on either side", () => {
  const { $comment, ...names } = contract;
  expect($comment).toEqual(expect.any(String));
  expect({
    table: TABLE,
    environment: ENVIRONMENT,
    optionalEnvironment: OPTIONAL_ENVIRONMENT,
    metrics: METRICS,
    logFields: Object.keys(EVERY_LINE),
    logLines: promised(TASK_LINES),
    outputs: OUTPUTS,
    optionalOutputs: OPTIONAL_OUTPUTS,
    agentQueue: { ...AGENT_QUEUE, logLines: promised(AGENT_LINES) },
  }).toEqual(names);
});

test('make builds every function that a stack deploys, and no other', () => {
  const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8');
  const [, built = ''] = /^FUNCTIONS := (.+)$/m.exec(makefile) ?? [];
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
      const given = Object.keys(synthesized.fn(fn).Environment.Variables);
      const optional = (variable: string) => contract.optionalEnvironment.includes(variable);
      const required = variables.filter((variable) => !optional(variable));
      expect(given.filter((variable) => !optional(variable)).sort()).toEqual(required.sort());
      expect(variables).toEqual(expect.arrayContaining(given));
    },
  );

  test("has the contract's outputs, and those of the shed tasks it keeps, of its ingest queue and of its dashboard", () => {
    const { shedTasks, ingest, dashboard } = contract.optionalOutputs;
    const kept = environment(name).keepShedTasks ? shedTasks : [];
    const taken = environment(name).settings?.ingest === undefined ? [] : ingest;
    expect(Object.keys(synthesized.outputs)).toEqual([...contract.outputs, ...kept, ...taken, ...dashboard]);
  });

  test('names table, key, index and projection as the contract does', () => {
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

test('every optional variable is given once it is set, and is in the contract', () => {
  const synthesized = Synthesized.of((stack) => ({
    tasks: { maxTtl: Duration.days(2), allowDirectWrites: false },
    processing: {
      ratePerSecond: 20,
      codel: { target: Duration.seconds(1), interval: Duration.seconds(5) },
      targetLatency: Duration.seconds(2),
    },
    ingest: {},
    shedTasksTo: new Queue(stack, 'shed'),
  }));
  for (const [fn, variables] of Object.entries(contract.environment as Record<string, string[]>)) {
    const given = Object.keys(synthesized.fn(fn).Environment.Variables);
    expect(given.sort()).toEqual([...variables].sort());
  }
  expect(synthesized.fn('create-tasks').Environment.Variables.MAX_TTL_SECONDS).toBe('172800');
});

describe.each(ENVIRONMENT_NAMES)("the template of %s's agents' queue", (name) => {
  const { agentQueue } = contract;
  const synthesized = Synthesized.agents(name);

  test.each(Object.entries(agentQueue.environment as Record<string, string[]>))(
    "gives %s the contract's variables",
    (fn, variables) => {
      const required = variables.filter((variable) => !agentQueue.optionalEnvironment.includes(variable));
      expect(Object.keys(synthesized.fn(fn).Environment.Variables).sort()).toEqual(required.sort());
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

test("every optional variable of the agents' queue is given once it is set, and is in the contract", () => {
  const synthesized = Synthesized.agentQueue({
    agents: { answerWithin: Duration.seconds(20), callLease: Duration.minutes(90), contentionWindow: 4 },
  });
  const environment: Record<string, string[]> = contract.agentQueue.environment;
  for (const [fn, variables] of Object.entries(environment)) {
    const given = synthesized.fn(fn).Environment.Variables;
    expect(Object.keys(given).sort()).toEqual([...variables].sort());
    expect(given.ANSWER_WITHIN_SECONDS).toBe('20');
    expect(given.CALL_LEASE_SECONDS).toBe('5400');
    expect(given.CONTENTION_WINDOW).toBe('4');
  }
});
