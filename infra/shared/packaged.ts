import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `functions/manifest.json` of the published package, which `make package` writes. */
interface Manifest {
  readonly version: string;
  /** SHA-256 hash of each zip file, by function name. */
  readonly sha256: Readonly<Record<string, string>>;
}

/**
 * Returns a function's zip file in the package at `root`, or `undefined` for the repository, which has no zip files.
 *
 * Throws if the file is not the one that was published with the package.
 */
export function packagedZip(root: string, binary: string): string | undefined {
  const manifestPath = join(root, 'functions', 'manifest.json');
  if (!existsSync(manifestPath)) return undefined;
  const { version, sha256 }: Manifest = JSON.parse(readFileSync(manifestPath, 'utf8'));
  const zip = join(root, 'functions', 'arm64', `${binary}.zip`);
  const found = existsSync(zip) ? createHash('sha256').update(readFileSync(zip)).digest('hex') : 'no file';
  if (found !== sha256[binary]) {
    throw new Error(
      `${zip} is not the function ${binary} of freshq ${version}: its SHA-256 is ${found}, and the manifest has ${sha256[binary] ?? 'none'}. ` +
        'Remedy: delete node_modules/freshq and install the package again.',
    );
  }
  return zip;
}
