import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

/** All files under the paths that are committed, or new and not ignored; without a path, all of the repository. */
export function committed(...paths: readonly string[]): string[] {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths];
  const listed = execFileSync('git', options, { cwd: ROOT, encoding: 'utf8' });
  return [...new Set(listed.split('\n').filter((file) => file !== ''))];
}

export function documents(): string[] {
  return committed().filter((file) => file.endsWith('.md'));
}
