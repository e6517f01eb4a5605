import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

/** Returns the committed and the new, not ignored files under the paths, or in the whole repository without a path. */
export function committed(...paths: readonly string[]): string[] {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths];
  const listed = execFileSync('git', options, { cwd: ROOT, encoding: 'utf8' });
  return [...new Set(listed.split('\n').filter((file) => file !== ''))];
}

export function documents(): string[] {
  return committed().filter((file) => file.endsWith('.md'));
}
