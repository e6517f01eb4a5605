import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './synthesis';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  /** Whether the entry is a folder of this repository instead of a registry package. */
  readonly link?: boolean;
  /** Whether the entry is part of its parent's file and therefore covered by its parent's checksum. */
  readonly inBundle?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}

/** Each folder with a lock file, and the folders whose dependencies the lock file pins. */
const LOCKS = [
  ['.', ['.', 'tools/cdk']],
  ['tools/package', ['tools/package']],
  ['tools/site', ['tools/site']],
] as const;

describe.each(LOCKS)('the packages of %s', (folder, pinned) => {
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
  const packages: Record<string, Locked> = read(join(folder, 'package-lock.json')).packages;

  test('the lock file contains no registry URLs', () => {
    const named = Object.entries(packages).filter(
      ([, { resolved, link }]) => resolved !== undefined && !link,
    );
    expect(named).toEqual([]);
  });

  // Without a checksum, npm installs any file that the registry returns for that name and version.
  test('the lock has the checksum of every file that npm fetches', () => {
    const unchecked = Object.entries(packages).filter(
      ([path, { integrity, link, inBundle }]) =>
        path.startsWith('node_modules/') && !link && !inBundle && !integrity?.startsWith('sha512-'),
    );
    expect(unchecked).toEqual([]);
  });

  test('no dependency runs an installation script', () => {
    expect(readFileSync(join(ROOT, folder, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  // npm can omit packages for other platforms that a registry does not have. In that case, `npm ci` rejects the lock
  // file everywhere.
  test('the lock has the binaries for every platform', () => {
    const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          packages[`node_modules/${name}`]?.version === undefined &&
          packages[`${parent}/node_modules/${name}`]?.version === undefined,
      ),
    );
    expect(missing).toEqual([]);
  });

  test('every direct dependency is pinned to an exact version', () => {
    for (const { dependencies, devDependencies } of pinned.map((each) => read(join(each, 'package.json')))) {
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
        expect(version).toMatch(/^\d+\.\d+\.\d+$/);
        expect(packages[`node_modules/${name}`]?.version).toBe(version);
      }
    }
  });
});
