import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOLDS } from '../../infra/diff/hazards';
import { expectCommitted } from './generated';
import { ROOT, Synthesized } from './synthesis';
import { VARIANTS } from './variants';

type Locked = readonly [type: string, logicalId: string];

const MAXIMAL = {
  'lifo-queue': 'every option of a task queue, in a VPC, calling over HTTP with a secret',
  'agent-queue': "every option of an agents' queue",
};

/** Returns the resources below the queue, by construct path. */
function current(variant: string): Map<string, Locked> {
  const build = VARIANTS[variant];
  if (build === undefined) throw new Error(`no variant ${variant}`);
  return new Map(
    new Synthesized(build()).resources.map(([logicalId, { Type, Metadata }]) => [
      Metadata?.['aws:cdk:path'] ?? logicalId,
      [Type, logicalId],
    ]),
  );
}

function text(locked: ReadonlyMap<string, Locked>): string {
  return [...locked]
    .map(([path, [type, logicalId]]) => `${path} ${type} ${logicalId}\n`)
    .sort()
    .join('');
}

function parsed(lines: string): Map<string, Locked> {
  return new Map(
    lines
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [path = '', type = '', logicalId = ''] = line.split(' ');
        return [path, [type, logicalId]];
      }),
  );
}

/** Returns one sentence per resource with data that an update of a deployed queue would delete or replace. */
function lost(before: ReadonlyMap<string, Locked>, after: ReadonlyMap<string, Locked>): string[] {
  return [...before].flatMap(([path, [type, logicalId]]) => {
    const now = after.get(path);
    const data = HOLDS[type];
    if (data === undefined || (now?.[0] === type && now[1] === logicalId)) return [];
    return [
      `${path} was ${type} with the logical id ${logicalId}, and ${now ? `is now ${now.join(' with the logical id ')}` : 'is gone'}: ` +
        `an update of a deployed stack would create an empty one, and delete or abandon the old one with ${data}. ` +
        'Remedy: restore its construct path. If the change is meant, describe the migration in docs/how-to/upgrade.md, and delete its line in the lock.',
    ];
  });
}

describe.each(Object.entries(MAXIMAL))('the logical ids of %s', (name, variant) => {
  const file = `tests/infra/deployed/${name}.ids`;
  const now = current(variant);
  const locked = parsed(readFileSync(join(ROOT, file), 'utf8'));

  test('preserve every resource with data', () => {
    expect([...locked.values()].filter(([type]) => HOLDS[type]).length).toBeGreaterThan(8);
    expect(lost(locked, now)).toEqual([]);
  });

  test('match the committed list', () => {
    // `make docs` must not overwrite the lock of a resource that holds data.
    expect(lost(locked, now)).toEqual([]);
    expectCommitted(file, text(now));
  });

  test('are checked: a renamed, removed or retyped resource with data is reported', () => {
    const [first, second, third] = [...now].filter(([, [type]]) => HOLDS[type]);
    if (!first || !second || !third) throw new Error('too few resources with data');
    const changed = new Map(now);
    changed.set(first[0], [first[1][0], 'renamed']).set(second[0], ['AWS::S3::Bucket', second[1][1]]);
    changed.delete(third[0]);
    const sentences = lost(now, changed);
    expect(sentences).toHaveLength(3);
    for (const [at, [path]] of [first, second, third].entries()) expect(sentences[at]).toContain(path);
    expect(sentences[2]).toContain('is gone');
  });
});
