import type { EnvironmentName } from '../../infra/environments/list';
import { Synthesized } from './synthesis';

/** Returns each template value by path. Masks the environment name where it is part of the stack name or the tag. */
function values(template: unknown, path: readonly string[] = []): [string, string][] {
  const entries = typeof template === 'object' && template !== null ? Object.entries(template) : [];
  if (entries.length > 0) return entries.flatMap(([name, value]) => values(value, [...path, name]));
  const masked = JSON.stringify(template)
    .replace(/\b(\w+Queue)-(dev|staging|prod)\b/g, '$1-<env>')
    .replace(/^"(dev|staging|prod)"$/, '"<env>"');
  return [[path.join('.').replace(/(AllowInvoke\w+Queue)(dev|staging|prod)\w+/, '$1<env>'), masked]];
}

/** Returns one line per different value: `-` has the prod value, and `+` has the other environment's value. */
function differences(prod: Synthesized, other: Synthesized): string {
  const [before, after] = [prod, other].map((stack) => new Map(values(stack.masked())));
  const paths = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].sort();
  const line = (sign: string, path: string, value: string | undefined) =>
    value === undefined ? [] : [`${sign} ${path}: ${value}`];
  return paths
    .filter((path) => before?.get(path) !== after?.get(path))
    .flatMap((path) => [...line('-', path, before?.get(path)), ...line('+', path, after?.get(path))])
    .join('\n');
}

describe.each<EnvironmentName>(['dev', 'staging'])('%s differs from prod as it was reviewed', (name) => {
  test('task queue', () => {
    expect(differences(Synthesized.environment('prod'), Synthesized.environment(name))).toMatchSnapshot();
  });

  test("agents' queue", () => {
    expect(differences(Synthesized.agents('prod'), Synthesized.agents(name))).toMatchSnapshot();
  });
});
