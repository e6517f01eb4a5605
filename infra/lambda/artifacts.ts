import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Annotations, Stack } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';

/** The root of this package: where `infra/` and `target/` are. */
export const PACKAGE_ROOT = resolve(__dirname, '..', '..');

/** The id of the warning that a stack's functions hold placeholders. */
export const PLACEHOLDER_WARNING = 'freshq:placeholders';

/** Stands in for a binary where `FRESHQ_SKIP_BUILD=1` synthesizes without Rust. */
export const PLACEHOLDER = join(PACKAGE_ROOT, 'infra', 'lambda', 'placeholder');

/** Whether this synthesis puts placeholders in place of the functions' code. */
export function skipsBuild(): boolean {
  return process.env.FRESHQ_SKIP_BUILD === '1';
}

/** Warns, once a stack, where its functions hold placeholders. */
export function warnOfPlaceholders(scope: IConstruct): void {
  if (!skipsBuild()) return;
  Annotations.of(Stack.of(scope)).addWarningV2(
    PLACEHOLDER_WARNING,
    'FRESHQ_SKIP_BUILD=1 is set, so that every function holds a placeholder, which fails as soon as it starts. Unset it, and run `make build`, before you deploy',
  );
}

/** The directory with one folder a binary: `FRESHQ_ARTIFACTS`, or where `make build` puts arm64 binaries. */
export function artifactsRoot(): string {
  const given = process.env.FRESHQ_ARTIFACTS;
  return given ? resolve(given) : join(PACKAGE_ROOT, 'target', 'arm64', 'lambda');
}

/** The folder of a built binary, if it was built. */
export function builtFolder(binary: string): string | undefined {
  const folder = join(artifactsRoot(), binary);
  return existsSync(join(folder, 'bootstrap')) ? folder : undefined;
}

/**
 * The code of one of this package's functions: `<artifacts>/<binary>/bootstrap`.
 *
 * Throws if it was not built; with `FRESHQ_SKIP_BUILD=1` it is the placeholder, which synthesizes but does not run.
 */
export function builtCode(binary: string): Code {
  if (skipsBuild()) return Code.fromAsset(PLACEHOLDER);
  const folder = builtFolder(binary);
  if (folder === undefined) {
    throw new Error(
      `${binary} has not been built: there is no ${join(artifactsRoot(), binary, 'bootstrap')}. ` +
        'Remedy: run `make build` (or point FRESHQ_ARTIFACTS at the folder that holds the built functions), ' +
        'or set FRESHQ_SKIP_BUILD=1 to synthesize a template without code.',
    );
  }
  return Code.fromAsset(folder);
}
