import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_QUEUE } from '../../../infra/contract/agents';
import { ENVIRONMENT } from '../../../infra/contract/tasks';
import { expectCommitted, markdownTable } from '../generated';
import { ROOT, Synthesized } from '../synthesis';
import { ALLOWED, type Allowed, allowedBy, FUNCTIONS } from './allowed';
import { everyStatement } from './statements';
import { WILDCARD_RESOURCES } from './wildcards';

const PROD = [Synthesized.environment('prod'), Synthesized.agents('prod')];

function code(text: string): string {
  return `\`${text}\``;
}

/** Returns conditions in readable form. */
function told(conditions: unknown): string {
  return conditions === undefined ? '' : code(JSON.stringify(conditions).replaceAll('"', ''));
}

/** Returns one row per function, resource and condition, with all actions. */
function rows(allowed: readonly Allowed[]): string[][] {
  const merged = new Map<string, { row: string[]; actions: string[] }>();
  for (const each of allowed) {
    const row = [code(each.resource), told(each.conditions)];
    const key = [each.function, ...row].join(' ');
    const known = merged.get(key) ?? { row: [code(each.function), ...row], actions: [] };
    merged.set(key, { ...known, actions: [...known.actions, code(each.action)] });
  }
  return [...merged.values()].map(({ row: [name = '', ...rest], actions }) => [
    name,
    actions.sort().join(', '),
    ...rest,
  ]);
}

/** Returns the permissions of other principals: schedule roles, queue and topic policies, and Lambda permissions. */
function others(): string[][] {
  const schedules = PROD.flatMap((template) =>
    everyStatement(template)
      .filter(
        ({ kind, attachedTo }) =>
          kind === 'identity' && attachedTo.some((role) => !/^[\w-]+\/role$/.test(role)),
      )
      .map(({ attachedTo, actions, resources }) => [
        attachedTo,
        actions,
        resources.map(code),
        `assumed by ${code(takenOnBy(template, attachedTo))}`,
      ]),
  );
  const services = PROD.flatMap((template) =>
    everyStatement(template)
      .filter(({ kind, effect }) => kind === 'resource' && effect === 'Allow')
      .map(({ principal, actions, resources, conditions }) => [
        [
          Object.values(principal as object)
            .flat()
            .join(', '),
        ],
        actions,
        resources.map(code),
        sourceOf(template, conditions),
      ]),
  );
  const invocations = PROD.flatMap((template) =>
    template
      .all('AWS::Lambda::Permission')
      .map(({ Properties }) => [
        [Properties.Principal],
        [Properties.Action],
        [code(template.readable(Properties.FunctionName))],
        `for ${code(template.readable(Properties.SourceArn))}`,
      ]),
  );
  return [...schedules, ...services, ...invocations].map(([who, actions, on, why]) => [
    [who]
      .flat()
      .map((each) => code(String(each)))
      .join(', '),
    [actions]
      .flat()
      .map((each) => code(String(each)))
      .join(', '),
    [on].flat().join(', '),
    String(why),
  ]);
}

/** Returns the service that can assume a role. */
function takenOnBy(template: Synthesized, roles: readonly string[]): string {
  const trust = everyStatement(template).find(({ kind, at }) => kind === 'trust' && roles.includes(at));
  return Object.values((trust?.principal ?? {}) as Record<string, string>).join(', ');
}

function sourceOf(template: Synthesized, conditions: unknown): string {
  const [arn] = Object.values((conditions as { ArnEquals?: Record<string, unknown> }).ArnEquals ?? {});
  if (arn === undefined) throw new Error(`no source in ${JSON.stringify(conditions)}`);
  return `for ${code(template.readable(arn))}`;
}

test('the table covers every function in the contract', () => {
  expect(FUNCTIONS).toEqual([...Object.keys(ENVIRONMENT), ...Object.keys(AGENT_QUEUE.environment)].sort());
});

test('docs/reference/iam.md lists the permissions of each function', () => {
  const HEAD = ['function', 'may', 'on', 'only if'];
  const sections = [...ALLOWED].map(([name, allowed]) =>
    name === 'prod'
      ? `## In prod\n\n${markdownTable(HEAD, rows(allowed))}`
      : `### More with ${name}\n\n${markdownTable(HEAD, rows(allowed))}`,
  );
  const wildcards = WILDCARD_RESOURCES.map(({ actions, says, reason }) => [
    actions.map(code).join(', '),
    code(says),
    reason,
  ]);
  expectCommitted(
    'docs/reference/iam.md',
    `# What each function may do

\`make docs\` writes this page from the synthesized templates. It names a resource by its construct's path in the stack.
The end-to-end tests run on a local AWS that enforces these policies, so they fail if a permission is missing.
\`make iam-soak\` removes each permission in turn and expects a function to fail: [iam-removal.md](../internals/iam-removal.md).
Tests reject an action or a resource that is a pattern, except the [wildcards](#wildcards) below.

${sections.join('\n\n')}

## Other principals

${markdownTable(['principal', 'may', 'on', 'details'], others())}

Every queue and every topic denies requests without TLS.

## Wildcards

${markdownTable(['actions', 'on', 'why'], wildcards)}
`,
  );
});

test('docs/internals/iam-removal.md lists every permission of the functions in dev', () => {
  const text = readFileSync(join(ROOT, 'docs', 'internals', 'iam-removal.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `([\w:]+)` \| `[^`]+` \| `([\w-]+)` \|/gm)];
  const told = rows.map(([, action, name]) => `${name}: ${action}`);
  const allowed = [Synthesized.environment('dev'), Synthesized.agents('dev')].flatMap(allowedBy);
  expect(told.sort()).toEqual(allowed.map(({ function: name, action }) => `${name}: ${action}`).sort());
});
