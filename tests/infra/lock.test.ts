import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './synthesis';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Record<string, string>;
}

const packages: Record<string, Locked> = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
).packages;

test('the lock names no registry', () => {
  expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

// npm leaves out what a registry does not have for other platforms, and `npm ci` then refuses the lock everywhere.
test('the lock has the binaries of every platform', () => {
  const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`]?.version === undefined &&
        packages[`${parent}/node_modules/${name}`]?.version === undefined,
    ),
  );
  expect(missing).toEqual([]);
});

test('every dependency of ours is pinned exactly', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const [name, version] of Object.entries(devDependencies)) {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(packages[`node_modules/${name}`]?.version).toBe(version);
  }
});
