import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import {
  formatDifferences,
  fullDiff,
  mangleLikeCloudFormation,
  type TemplateDiff,
} from '@aws-cdk/cloudformation-diff';
import { broadenedPermissions, dataHazards } from './hazards';
import type { CfnTemplate } from './templates';

/**
 * Maximum summary size, in bytes. GitHub doesn't show any part of a summary larger than 1 MiB
 * (https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits).
 */
export const MOST_BYTES = 1_000_000;

/** Maximum number of lines per list. The summary gives only the number of omitted lines. */
const MOST_LINES = 50;

/** Maximum length of a name or statement, in characters. Longer text is truncated. */
const MOST_CHARACTERS = 200;

/** Names of the two sides of a comparison, for the summary's heading. */
export interface Sides {
  /** Name of the templates before the change, for example `the deployed stacks`. */
  readonly base: string;
  /** Name of the templates after the change, for example a commit. */
  readonly head: string;
}

interface StackDiff {
  readonly stack: string;
  readonly state: 'changed' | 'new' | 'gone' | 'unchanged';
  readonly diff: TemplateDiff;
}

/**
 * Renders the effects of deploying `head` over `base` in Markdown. The text first lists data that can be lost, then
 * broadened permissions, then all differences per stack, collapsed. Text beyond {@link MOST_BYTES} is truncated, and
 * the first line says so.
 *
 * @param base templates by stack, before the change
 * @param head templates by stack, after the change
 */
export function renderSummary(
  base: ReadonlyMap<string, CfnTemplate>,
  head: ReadonlyMap<string, CfnTemplate>,
  sides: Sides,
): string {
  const diffs = compare(base, head);
  const blocks = [
    `## Stacks: ${code(sides.head)} compared with ${code(sides.base)}`,
    hazardBlock(diffs),
    permissionBlock(diffs),
    overview(diffs),
    ...diffs.filter(({ state }) => state === 'changed' || state === 'new').map(details),
  ];
  const whole = `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
  if (Buffer.byteLength(whole) <= MOST_BYTES) return whole;
  const cut = `**This summary is cut off at ${MOST_BYTES} bytes:** compare the templates in full with make diff.\n\n${whole}`;
  return Buffer.from(cut).subarray(0, MOST_BYTES).toString();
}

function compare(
  base: ReadonlyMap<string, CfnTemplate>,
  head: ReadonlyMap<string, CfnTemplate>,
): StackDiff[] {
  const stacks = [...new Set([...base.keys(), ...head.keys()])].sort();
  return stacks.map((stack) => {
    const before = base.get(stack);
    const after = head.get(stack);
    const diff = fullDiff(asReadBack(before ?? {}), asReadBack(after ?? before ?? {}));
    if (before === undefined) return { stack, state: 'new', diff };
    if (after === undefined) return { stack, state: 'gone', diff };
    return { stack, state: diff.isEmpty ? 'unchanged' : 'changed', diff };
  });
}

/**
 * Converts a template to the form in which CloudFormation returns it. CloudFormation replaces non-ASCII characters,
 * which would always show as differences. The JSON of a function's settings is parsed, so that each changed setting is
 * a difference with its own path.
 */
function asReadBack(template: CfnTemplate): CfnTemplate {
  return JSON.parse(mangleLikeCloudFormation(JSON.stringify(template)), (name, value) =>
    name.startsWith('SETTINGS_') && typeof value === 'string' ? JSON.parse(value) : value,
  );
}

function hazardBlock(diffs: readonly StackDiff[]): string {
  const lines = diffs.flatMap(({ stack, diff }) =>
    dataHazards(diff).map(
      ({ where, type, happens }) => `- ${code(stack)}: ${code(where)} (${code(type)}) ${text(happens)}.`,
    ),
  );
  if (lines.length === 0) return '';
  return list('### :rotating_light: Data may be lost', lines);
}

function permissionBlock(diffs: readonly StackDiff[]): string {
  // Skips new stacks, because all their statements are new, and the details show them.
  const lines = diffs
    .filter(({ state }) => state === 'changed')
    .flatMap(({ stack, diff }) =>
      broadenedPermissions(diff).map((grant) => `- ${code(stack)}: ${code(grant)}`),
    );
  if (lines.length === 0) return '';
  return list('### :warning: Permissions are broadened', lines);
}

function list(title: string, lines: readonly string[]): string {
  const shown = lines.slice(0, MOST_LINES);
  const rest = lines.length - shown.length;
  return [title, '', ...shown, ...(rest > 0 ? [`- and ${rest} more`] : [])].join('\n');
}

function overview(diffs: readonly StackDiff[]): string {
  const says = {
    changed: ({ diff }: StackDiff) => `${diff.differenceCount} differences`,
    new: ({ diff }: StackDiff) => `new, with ${diff.resources.differenceCount} resources`,
    gone: () => 'no longer in the app; it is retained until you destroy it',
    unchanged: () => 'no difference',
  };
  if (diffs.length === 0) return 'There are no stacks.';
  return diffs.map((one) => `- ${code(one.stack)}: ${says[one.state](one)}`).join('\n');
}

function details({ stack, diff }: StackDiff): string {
  return `<details><summary>${text(stack)}</summary>\n\n${fenced(formatted(diff))}\n</details>`;
}

/** Returns the text that `cdk diff` prints for a difference, without colors. */
function formatted(diff: TemplateDiff): string {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  formatDifferences(stream, diff);
  return stripVTControlCharacters(chunks.join('')).trim();
}

/** Returns a code block. A template from a fork's pull request is untrusted, so its text must not end the block. */
function fenced(content: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(content) + 1));
  return `${fence}\n${content}\n${fence}`;
}

function code(content: string): string {
  const whole = content.replace(/\s+/g, ' ');
  // The lists of hazards and permissions must fit into the summary, even with long names from an untrusted template.
  const line = whole.length > MOST_CHARACTERS ? `${whole.slice(0, MOST_CHARACTERS)}…` : whole;
  const fence = '`'.repeat(longestRun(line) + 1);
  return line.includes('`') ? `${fence} ${line} ${fence}` : `${fence}${line}${fence}`;
}

/** Escapes property and policy names in a sentence, so that they can't be interpreted as Markdown or HTML. */
function text(content: string): string {
  return content.replace(/[\\`*_{}[\]<>#!|~&]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function longestRun(content: string): number {
  return Math.max(0, ...(content.match(/`+/g) ?? []).map(({ length }) => length));
}
