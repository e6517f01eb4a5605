import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bothStacks, environment, KINDS, Synthesized } from './synthesis';

const FUNCTIONS = KINDS.flatMap(({ functions }) => functions);
const created: string[] = [];
const before = { ...process.env };

afterEach(() => {
  process.env = { ...before };
  for (const folder of created.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder of built functions at a random path, with the build time as the modification time. */
function built(codeOf: (name: string) => string, writtenAt: Date): string {
  const root = mkdtempSync(join(tmpdir(), 'freshq-built-'));
  created.push(root);
  for (const name of FUNCTIONS) {
    mkdirSync(join(root, name));
    const bootstrap = join(root, name, 'bootstrap');
    writeFileSync(bootstrap, codeOf(name));
    chmodSync(bootstrap, 0o755);
    utimesSync(bootstrap, writtenAt, writtenAt);
  }
  return root;
}

/** Returns the S3 key of each function's code, by the function's logical id. */
function codeKeys(artifacts: string): Map<string, string> {
  delete process.env.FRESHQ_SKIP_BUILD;
  process.env.FRESHQ_ARTIFACTS = artifacts;
  return new Map(
    bothStacks(environment('dev')).flatMap((stack) => {
      const { Resources } = new Synthesized(stack).template.toJSON();
      return Object.entries<{ Type: string; Properties: { Code: { S3Key: string } } }>(Resources)
        .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
        .map(([id, { Properties }]): [string, string] => [id, Properties.Code.S3Key]);
    }),
  );
}

test('identical binaries have identical assets, regardless of build time and folder', () => {
  const here = codeKeys(built((name) => `code of ${name}`, new Date('2026-01-01')));
  const there = codeKeys(built((name) => `code of ${name}`, new Date('2026-06-01')));
  expect(here.size).toBe(FUNCTIONS.length);
  expect(new Set(here.values()).size).toBe(FUNCTIONS.length);
  expect(there).toEqual(here);
});

test('an unchanged function is not redeployed', () => {
  const written = new Date('2026-01-01');
  const old = codeKeys(built((name) => `code of ${name}`, written));
  const changed = codeKeys(built((name) => (name === 'trigger' ? 'new code' : `code of ${name}`), written));
  const different = [...old.keys()].filter((id) => old.get(id) !== changed.get(id));
  expect(different).toEqual([expect.stringMatching(/^queuetrigger/)]);
});
