import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './synthesis';

/**
 * Compares a committed document with what the templates give. `make docs` sets `FRESHQ_WRITE_TABLES`, with which
 * the document is written instead.
 */
export function expectCommitted(file: string, text: string): void {
  const path = join(ROOT, file);
  if (process.env.FRESHQ_WRITE_TABLES === '1') writeFileSync(path, text);
  // On failure the difference stands in the message; `make docs` writes the document again.
  expect(readFileSync(path, 'utf8')).toBe(text);
}

/** A table of Markdown. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
