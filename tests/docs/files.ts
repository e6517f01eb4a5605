import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

/** All files under `path` that are committed, or new and not ignored. */
export function committed(path = '.'): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', path], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return [...new Set(listed.split('\n').filter((file) => file !== ''))];
}

export function documents(): string[] {
  return committed().filter((file) => file.endsWith('.md'));
}
