import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { renderComment } from './comment';
import { type CfnTemplate, readTemplates } from './templates';

/** `make diff-comment`: writes the comment on two folders of templates to a file, or to the standard output. */
function main(): void {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      head: { type: 'string' },
      'base-name': { type: 'string' },
      'head-name': { type: 'string' },
      out: { type: 'string' },
      environments: { type: 'string' },
    },
  });
  const { base, head, out } = values;
  if (base === undefined || head === undefined) {
    throw new Error('usage: tsx infra/diff/main.ts --base FOLDER --head FOLDER [--out FILE]');
  }
  const wanted = values.environments;
  const comment = renderComment(templatesOf(base, wanted), templatesOf(head, wanted), {
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

/** @param environments a JSON list of names, as the repository's variable has it; all where it is not given */
function templatesOf(folder: string, environments: string | undefined): Map<string, CfnTemplate> {
  const templates = readTemplates(folder);
  if (environments === undefined) return templates;
  const names: unknown = JSON.parse(environments);
  if (!Array.isArray(names)) throw new Error(`${environments} is no list of environments, such as ["prod"]`);
  return new Map([...templates].filter(([stack]) => names.includes(stack.slice(stack.indexOf('-') + 1))));
}

try {
  main();
} catch (failure) {
  process.stderr.write(`${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}
