import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
export type CfnTemplate = Record<string, any>;

/** Suffix of a template's file name, `<stack>.template.json`, as in `cdk.out`. */
const SUFFIX = '.template.json';

/**
 * Reads the templates that `cdk synth` or {@link file://../../delivery/deployed.py} wrote to a folder, by stack.
 *
 * Throws if the folder does not exist, or if a file in it is not a template. An empty folder is valid, and means that
 * no stack is deployed yet.
 */
export function readTemplates(folder: string): Map<string, CfnTemplate> {
  if (!existsSync(folder)) {
    throw new Error(
      `the folder ${folder} with templates does not exist. Remedy: write it with \`make synth\`, or name another folder.`,
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
    throw new Error(`${file} is not a CloudFormation template: it has no Resources`);
  }
  return template;
}
