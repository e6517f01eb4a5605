import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './synthesis';

/**
 * Compares a committed document with its generated text. If `FRESHQ_WRITE_TABLES=1` is set, as in `make docs`, writes
 * the document first.
 */
export function expectCommitted(file: string, text: string): void {
  const path = join(ROOT, file);
  if (process.env.FRESHQ_WRITE_TABLES === '1') writeFileSync(path, text);
  // If this fails, run `make docs` to update the document.
  expect(readFileSync(path, 'utf8')).toBe(text);
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
