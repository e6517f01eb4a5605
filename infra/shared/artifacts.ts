import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Annotations, Stack } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';
import { packagedZip } from './packaged';

/** Root folder of the repository, or of the published package. */
export const PACKAGE_ROOT = resolve(__dirname, '..', '..');

/** Id of the warning that the functions of a stack contain placeholders. */
export const PLACEHOLDER_WARNING = 'freshq:placeholders';

/** Folder of the placeholder that replaces a binary if `FRESHQ_SKIP_BUILD=1` synthesizes without Rust. */
export const PLACEHOLDER = join(__dirname, 'placeholder');

/** Whether this synthesis replaces the functions' code with placeholders. */
export function skipsBuild(): boolean {
  return process.env.FRESHQ_SKIP_BUILD === '1';
}

/** Adds one warning to the stack if its functions contain placeholders. */
export function warnOfPlaceholders(scope: IConstruct): void {
  if (!skipsBuild()) return;
  Annotations.of(Stack.of(scope)).addWarningV2(
    PLACEHOLDER_WARNING,
    'FRESHQ_SKIP_BUILD=1 is set, so every function contains a placeholder that fails at startup. Before you deploy, unset it and synthesize again; in a clone of freshq, first run `make build`',
  );
}

/**
 * Returns the folder with one subfolder per binary: `FRESHQ_ARTIFACTS`, or the `make build` output (arm64 binaries).
 */
export function artifactsRoot(): string {
  const given = process.env.FRESHQ_ARTIFACTS;
  return given ? resolve(given) : join(PACKAGE_ROOT, 'target', 'arm64', 'lambda');
}

/** Whether this module is neither in the repository nor in the package, because a bundler copied it. */
function isBundled(): boolean {
  const path = join(PACKAGE_ROOT, 'package.json');
  return !existsSync(path) || JSON.parse(readFileSync(path, 'utf8')).name !== 'freshq';
}

/** Returns the folder of a binary, or undefined if it has not been built. */
export function builtFolder(binary: string): string | undefined {
  const folder = join(artifactsRoot(), binary);
  return existsSync(join(folder, 'bootstrap')) ? folder : undefined;
}

/**
 * Returns the code of one of this package's functions. The first choice is the zip file from the package at
 * `FRESHQ_ARTIFACTS`, by default this package. The second choice is the binary in {@link artifactsRoot}. With
 * `FRESHQ_SKIP_BUILD=1`, the code is a placeholder that fails on startup.
 *
 * Throws if neither the zip file nor the binary exists.
 */
export function builtCode(binary: string): Code {
  if (skipsBuild()) return Code.fromAsset(PLACEHOLDER);
  const code = packagedZip(process.env.FRESHQ_ARTIFACTS || PACKAGE_ROOT, binary) ?? builtFolder(binary);
  if (code === undefined) {
    if (isBundled()) {
      throw new Error(
        `the code of ${binary} is not in ${PACKAGE_ROOT}, because a bundler moved the constructs out of the package freshq. ` +
          'Remedy: make freshq external in the bundler, or point FRESHQ_ARTIFACTS at node_modules/freshq.',
      );
    }
    throw new Error(
      `${binary} has not been built: there is no ${join(artifactsRoot(), binary, 'bootstrap')}. ` +
        'Remedy: run `make build` (or point FRESHQ_ARTIFACTS at the folder with the built functions), ' +
        'or set FRESHQ_SKIP_BUILD=1 to synthesize a template without code.',
    );
  }
  return Code.fromAsset(code);
}
