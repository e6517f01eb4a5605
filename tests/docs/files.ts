import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The root of the repository. */
export const ROOT = join(__dirname, '..', '..');

/** Every file under `path` that is committed, or new and not ignored. */
export function committed(path = '.'): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', path], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return [...new Set(listed.split('\n').filter((file) => file !== ''))];
}

/** Every document. */
export function documents(): string[] {
  return committed().filter((file) => file.endsWith('.md'));
}
