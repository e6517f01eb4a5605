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
 * What the comment begins with: by it the next one is known as the same, and replaces it. `delivery/post_comment.py`
 * looks for it.
 */
export const MARKER = '<!-- freshq:diff -->';

/**
 * The most a comment may hold. GitHub counts 65,536 characters; counting bytes keeps to it in any script
 * (https://docs.github.com/rest/issues/comments answers 422 beyond).
 */
export const MOST_BYTES = 65_536;

/** Lines of one list before the rest is only counted. */
const MOST_LINES = 50;

/** Characters of one name or statement before the rest is cut off. */
const MOST_CHARACTERS = 200;

/** Where the sides of a comparison come from, for the comment's first line. */
export interface Sides {
  /** What is compared with, for example `what is deployed`. */
  readonly base: string;
  /** What is compared, for example a commit. */
  readonly head: string;
}

interface StackDiff {
  readonly stack: string;
  readonly state: 'changed' | 'new' | 'gone' | 'unchanged';
  readonly diff: TemplateDiff;
}

/**
 * A comment in Markdown on what deploying `head` over `base` would do: what may be lost first, then who may do more,
 * then every difference, folded, stack by stack. Never longer than {@link MOST_BYTES}: what does not fit is counted.
 *
 * @param base templates by stack, as they are
 * @param head templates by stack, as they will be
 */
export function renderComment(
  base: ReadonlyMap<string, CfnTemplate>,
  head: ReadonlyMap<string, CfnTemplate>,
  sides: Sides,
): string {
  const diffs = compare(base, head);
  const blocks = [
    `${MARKER}\n## Stacks: ${code(sides.head)} compared with ${code(sides.base)}`,
    hazardBlock(diffs),
    permissionBlock(diffs),
    overview(diffs),
    ...diffs.filter(({ state }) => state === 'changed' || state === 'new').map(details),
  ];
  return bounded(blocks.filter((block) => block !== ''));
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
 * A template as CloudFormation returns it: with ASCII only, which would otherwise always be a difference. The settings of
 * a function are not text but what they say, so that each changed one is a difference by its path.
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
  // Everything of a new stack is new: its statements are in its details.
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
    gone: () => 'no longer in the app; it stays until you destroy it',
    unchanged: () => 'no difference',
  };
  if (diffs.length === 0) return 'There are no stacks.';
  return diffs.map((one) => `- ${code(one.stack)}: ${says[one.state](one)}`).join('\n');
}

function details({ stack, diff }: StackDiff): string {
  return `<details><summary>${text(stack)}</summary>\n\n${fenced(formatted(diff))}\n</details>`;
}

/** What `cdk diff` prints of a difference, without colours. */
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

/** A template is a stranger's text in a fork's pull request: nothing of it may end the code it stands in. */
function fenced(content: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(content) + 1));
  return `${fence}\n${content}\n${fence}`;
}

function code(content: string): string {
  const whole = content.replace(/\s+/g, ' ');
  // What is called out must fit, whatever a stranger names a construct.
  const line = whole.length > MOST_CHARACTERS ? `${whole.slice(0, MOST_CHARACTERS)}…` : whole;
  const fence = '`'.repeat(longestRun(line) + 1);
  return line.includes('`') ? `${fence} ${line} ${fence}` : `${fence}${line}${fence}`;
}

/** Names of properties and policies in a sentence: whatever could be Markdown, HTML or a mention is escaped. */
function text(content: string): string {
  return content.replace(/[\\`*_{}[\]<>#!|~@&]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function longestRun(content: string): number {
  return Math.max(0, ...(content.match(/`+/g) ?? []).map(({ length }) => length));
}

/** As many blocks as fit, in their order; a block that does not fit is left out and counted. */
function bounded(blocks: readonly string[]): string {
  const note = (left: number) =>
    `${left} of ${blocks.length} parts did not fit into a comment; \`make diff-comment\` or the job's log shows them.`;
  const room = MOST_BYTES - Buffer.byteLength(note(blocks.length)) - 4;
  const kept: string[] = [];
  let used = 0;
  for (const block of blocks) {
    const bytes = Buffer.byteLength(block) + 2;
    if (used + bytes > room) continue;
    kept.push(block);
    used += bytes;
  }
  const left = blocks.length - kept.length;
  return `${[...kept, ...(left > 0 ? [note(left)] : [])].join('\n\n')}\n`;
}
