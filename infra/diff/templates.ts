import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A CloudFormation template as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
export type CfnTemplate = Record<string, any>;

/** What a file of a template is named: `<stack>.template.json`, in `cdk.out` and everywhere else here. */
const SUFFIX = '.template.json';

/**
 * The templates in a folder, by stack: what `cdk synth` wrote, or what {@link file://../../delivery/deployed.py}
 * fetched.
 *
 * Throws if there is no such folder, or if a file in it is no template. An empty folder is no error: nothing is
 * deployed yet.
 */
export function readTemplates(folder: string): Map<string, CfnTemplate> {
  if (!existsSync(folder)) {
    throw new Error(
      `there is no folder ${folder} with templates. Remedy: write one with \`make synth\`, or name another.`,
    );
  }
  const files = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  return new Map(
    files.sort().map((name) => [name.slice(0, -SUFFIX.length), readTemplate(join(folder, name))]),
  );
}

function readTemplate(file: string): CfnTemplate {
  const template: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof template !== 'object' || template === null || !('Resources' in template)) {
    throw new Error(`${file} is no CloudFormation template: it has no Resources`);
  }
  return template;
}
