import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, Synthesized } from '../synthesis';
import { VARIANTS } from '../variants';

/** Names of all functions, which are the folders in `lambdas/`. */
export const FUNCTIONS: readonly string[] = readdirSync(join(ROOT, 'lambdas')).sort();

/** An action on a resource that a function's role allows. */
export interface Allowed {
  readonly function: string;
  readonly action: string;
  readonly resource: string;
  readonly conditions?: unknown;
}

/** Templates whose functions are listed: both prod stacks, and queues with every option. */
const SOURCES: readonly (readonly [name: string, template: Synthesized])[] = [
  ['LifoQueue-prod', Synthesized.environment('prod')],
  ['AgentQueue-prod', Synthesized.agents('prod')],
  ...Object.entries(VARIANTS).map(([name, build]) => [name, new Synthesized(build())] as const),
];

/** Permissions of the functions in prod and, under each variant's name, the permissions that its options add. */
export const ALLOWED: ReadonlyMap<string, readonly Allowed[]> = (() => {
  const known = new Set<string>();
  const found = new Map<string, Allowed[]>();
  for (const [name, template] of SOURCES) {
    const source = name.endsWith('-prod') ? 'prod' : name;
    const all = allowedBy(template).filter((each) => {
      const text = JSON.stringify(each);
      return !known.has(text) && known.add(text);
    });
    if (all.length > 0) found.set(source, [...(found.get(source) ?? []), ...all]);
  }
  return found;
})();

/** Returns the permissions of a template's functions. */
export function allowedBy(template: Synthesized): Allowed[] {
  return FUNCTIONS.flatMap((name) => ofFunction(template, name));
}

function ofFunction(template: Synthesized, name: string): Allowed[] {
  return template
    .all('AWS::IAM::Policy')
    .filter(({ Properties }) =>
      Properties.Roles.some((role: unknown) => template.readable(role) === `${name}/role`),
    )
    .flatMap((policy) => template.statements(policy))
    .flatMap(({ effect, actions, resources, conditions }) => {
      // Only the actions on network interfaces are denied to the function's code (`keepsInterfacesFromCode` in
      // `rules.ts`).
      if (effect === 'Deny') return [];
      return actions.flatMap((action) =>
        resources.map((resource) => ({ function: name, action, resource, conditions })),
      );
    });
}
