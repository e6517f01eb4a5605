import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { ENVIRONMENT, METRICS, OPTIONAL_ENVIRONMENT, OUTPUTS, TABLE } from '../../infra/contract';
import { ENVIRONMENT_NAMES } from '../../infra/environments';
import { ROOT, Synthesized } from './synthesis';

const contract = JSON.parse(readFileSync(join(ROOT, 'tests', 'contract.json'), 'utf8'));

test("TypeScript's names are the contract's, and nothing is missing on either side", () => {
  const { $comment, ...names } = contract;
  expect($comment).toEqual(expect.any(String));
  expect({
    table: TABLE,
    environment: ENVIRONMENT,
    optionalEnvironment: OPTIONAL_ENVIRONMENT,
    metrics: METRICS,
    outputs: OUTPUTS,
  }).toEqual(names);
});

describe.each(ENVIRONMENT_NAMES)('the template of %s', (name) => {
  const synthesized = Synthesized.environment(name);

  test.each(Object.entries(contract.environment as Record<string, string[]>))(
    "gives %s the contract's variables",
    (fn, variables) => {
      const given = Object.keys(synthesized.fn(fn).Environment.Variables);
      const required = variables.filter((variable) => !contract.optionalEnvironment.includes(variable));
      expect(given.sort()).toEqual(required.sort());
    },
  );

  test("has the contract's outputs", () => {
    expect(Object.keys(synthesized.outputs)).toEqual(contract.outputs);
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

test('an optional variable is given once it is set, and is in the contract', () => {
  const synthesized = Synthesized.queue({ tasks: { maxTtl: Duration.days(2) } });
  const given = Object.keys(synthesized.fn('create-tasks').Environment.Variables);
  expect(given.sort()).toEqual([...contract.environment['create-tasks']].sort());
  expect(synthesized.fn('create-tasks').Environment.Variables.MAX_TTL_SECONDS).toBe('172800');
});
