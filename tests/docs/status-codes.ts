import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './files';

const RUNNER = 'crates/lifo-queue/src/runner/http';

type Means = 'Success' | 'Busy' | 'Rejecting' | 'Failure';

/** Returns the status code table of the HTTP runner: the codes per outcome, in matching order. */
function table(): Map<string, string[]> {
  const source = readFileSync(join(ROOT, RUNNER, 'response.rs'), 'utf8');
  const rows = /STATUS_CODES[\s\S]*?= \[([\s\S]*?)\n\];/.exec(source)?.[1] ?? '';
  return new Map(
    [...rows.matchAll(/\(&\[([^\]]*)\], Means::(\w+)\)/g)].map(([, codes = '', means = '']) => [
      means,
      [...codes.matchAll(/"(\w+)"/g)].map(([, code = '']) => code),
    ]),
  );
}

/** Returns the codes of an outcome in words. A class is *other* if an earlier row contains some of its codes. */
function codes(means: Means): string {
  const rows = [...table()];
  const place = rows.findIndex(([name]) => name === means);
  const earlier = rows.slice(0, place).flatMap(([, codes]) => codes);
  const named = (code: string) =>
    code.endsWith('xx') && earlier.some((other) => other[0] === code[0]) ? `other ${code}` : code;
  const [, found = []] = rows[place] ?? [];
  if (found.length === 0) throw new Error(`${RUNNER}/response.rs has no codes of ${means}`);
  return found.map(named).join(', ');
}

/** Matches the first cell of a Markdown table row whose second cell starts with `second`. */
const cell = (second: string, prefix = '') => new RegExp(`(?<=^${prefix}\\| )[^|]+(?= \\| ${second})`, 'gm');
/** Matches a list item in a comment whose text starts with `text`. */
const item = (text: string) => new RegExp(`(?<=^ +\\* - )[^:]+(?=: ${text})`, 'gm');
/** Matches the content of the parentheses after this text. */
const brackets = (before: string) => new RegExp(`(?<=${before} \\()[^)]+(?=\\))`, 'g');

/** The positions of the codes in each file. */
const PLACES: Readonly<Record<string, readonly (readonly [Means, RegExp])[]>> = {
  [`${RUNNER}.rs`]: [
    ['Busy', cell('busy', '//! ')],
    ['Rejecting', cell('rejecting', '//! ')],
    ['Failure', cell('failure', '//! ')],
  ],
  'README.md': [
    ['Success', cell('SUCCESS')],
    ['Busy', cell('\\*busy\\*')],
    ['Rejecting', cell('\\*rejecting\\*')],
    ['Failure', cell('FAILURE')],
  ],
  'docs/how-to/http-endpoint.md': [
    ['Success', cell('success')],
    ['Busy', cell('\\*busy\\*')],
    ['Rejecting', cell('\\*rejecting\\*')],
    ['Failure', cell('failure')],
  ],
  'docs/how-to/runbook-tasks.md': [['Busy', brackets('`Retry-After`')]],
  'docs/explanation/circuit-breaker.md': [
    ['Busy', brackets('a busy response')],
    ['Rejecting', brackets("rejects the queue's requests")],
  ],
  'docs/explanation/overload.md': [['Busy', brackets('A busy response')]],
  'infra/tasks/runners/task-runner.ts': [
    ['Success', item('the task succeeded')],
    ['Busy', item('the downstream is \\*busy\\*')],
    ['Rejecting', item('the downstream \\*rejects\\*')],
    ['Failure', item('the task failed')],
  ],
};

/** The files that quote the codes. */
export const QUOTING_FILES = Object.keys(PLACES);

/** Returns the text of a file, updated with the codes from the runner's table. */
export function withStatusCodes(file: string): string {
  return (PLACES[file] ?? []).reduce(
    (text, [means, place]) => {
      if (text.match(place)?.length !== 1)
        throw new Error(`${file} needs one place ${place} for the codes of ${means}`);
      return text.replace(place, codes(means));
    },
    readFileSync(join(ROOT, file), 'utf8'),
  );
}
