import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { renderComment } from './comment';
import { readTemplates } from './templates';

/** `make diff-comment`: writes the comment on two folders of templates to a file, or to the standard output. */
function main(): void {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      head: { type: 'string' },
      'base-name': { type: 'string' },
      'head-name': { type: 'string' },
      out: { type: 'string' },
    },
  });
  const { base, head, out } = values;
  if (base === undefined || head === undefined) {
    throw new Error('usage: tsx infra/diff/main.ts --base FOLDER --head FOLDER [--out FILE]');
  }
  const comment = renderComment(readTemplates(base), readTemplates(head), {
    base: values['base-name'] ?? base,
    head: values['head-name'] ?? head,
  });
  if (out === undefined) {
    process.stdout.write(comment);
    return;
  }
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, comment);
}

try {
  main();
} catch (failure) {
  process.stderr.write(`${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}
