import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderSummary } from './summary';
import { type CfnTemplate, readTemplates } from './templates';

/** `make diff-summary`: compares two folders of templates and writes the summary to a file or to standard output. */
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
  const summary = renderSummary(templatesOf(base, wanted), templatesOf(head, wanted), {
    base: values['base-name'] ?? base,
    head: values['head-name'] ?? head,
  });
  if (out === undefined) process.stdout.write(summary);
  else writeFileSync(out, summary);
}

/** @param environments JSON list of names, as in the repository variable; all environments if undefined */
function templatesOf(folder: string, environments: string | undefined): Map<string, CfnTemplate> {
  const templates = readTemplates(folder);
  if (environments === undefined) return templates;
  const names: unknown = JSON.parse(environments);
  if (!Array.isArray(names))
    throw new Error(`${environments} is not a JSON list of environments, such as ["prod"]`);
  return new Map([...templates].filter(([stack]) => names.includes(stack.slice(stack.indexOf('-') + 1))));
}

try {
  main();
} catch (failure) {
  process.stderr.write(`${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}
