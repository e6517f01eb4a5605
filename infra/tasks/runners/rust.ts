import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { ENVIRONMENT } from '../../contract/tasks';
import { builtFolder, PLACEHOLDER, skipsBuild } from '../../shared/artifacts';
import { settingsVariable } from '../../shared/function-settings';
import { type Problem, problemIf } from '../../shared/problem';
import type { NetworkSettings } from '../../shared/rust-function';
import type { ITaskRunner, RunnerBinding } from './binding';
import { networkProblems } from './http';

/** Props of `TaskRunner.rust`. */
export interface RustRunnerProps extends NetworkSettings {
  /** Path of the `Cargo.toml` of the crate that contains your binary. */
  readonly manifestPath: string;
  /** Name of the binary: `process-tasks` with your own runner. */
  readonly binary: string;
  /**
   * Additional environment variables. Variables that the queue sets itself are rejected.
   * @default - none
   */
  readonly environment?: Record<string, string>;
  /**
   * Additional arguments for `cargo lambda build`, for example `['--features', 'x']`. The environment variable
   * `FRESHQ_CARGO_LAMBDA_FLAGS` adds arguments on the build machine only.
   * @default - none
   */
  readonly cargoLambdaArgs?: string[];
}

export class RustRunner implements ITaskRunner {
  constructor(private readonly props: RustRunnerProps) {}

  /** @internal */
  _problems(): Problem[] {
    const { manifestPath, binary, environment } = this.props;
    const own: string[] = [...ENVIRONMENT['process-tasks'], settingsVariable('process-tasks')];
    const taken = Object.keys(environment ?? {}).filter((name) => own.includes(name));
    return [
      ...networkProblems(this.props),
      ...problemIf(
        !manifestPath.endsWith('Cargo.toml') || !existsSync(manifestPath),
        'runner.manifestPath',
        `${manifestPath} does not exist or is not a Cargo.toml`,
        "give the path of your crate's Cargo.toml, for example join(__dirname, 'my-runner', 'Cargo.toml')",
      ),
      ...problemIf(
        !/^[A-Za-z0-9_-]+$/.test(binary),
        'runner.binary',
        `"${binary}" is not the name of a cargo binary`,
        'give the name under [[bin]] in its Cargo.toml, or the name of the package',
      ),
      ...problemIf(
        taken.length > 0,
        'runner.environment',
        `the queue sets ${taken.join(', ')} itself`,
        "use the queue's typed settings for these, and other names for your own",
      ),
    ];
  }

  /** @internal */
  _bind(): RunnerBinding {
    const { vpc, vpcSubnets, securityGroups, environment } = this.props;
    return {
      description: { kind: 'custom' },
      code: this.code(),
      environment,
      network: { vpc, vpcSubnets, securityGroups },
    };
  }

  private code(): Code {
    if (skipsBuild()) return Code.fromAsset(PLACEHOLDER);
    // Uses a prebuilt binary, for example for the local AWS, where the CPU architecture can differ from Lambda's.
    const built = process.env.FRESHQ_ARTIFACTS ? builtFolder(this.props.binary) : undefined;
    if (built !== undefined) return Code.fromAsset(built);
    return Code.fromAsset(PLACEHOLDER, {
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Never used, because the local build below either succeeds or throws.
        image: DockerImage.fromRegistry('public.ecr.aws/lambda/provided:al2023'),
        local: {
          tryBundle: (outputDir) => {
            buildWithCargoLambda(this.props, outputDir);
            return true;
          },
        },
      },
    });
  }
}

/** Builds the binary for arm64 and writes it to `outputDir` as `bootstrap`. Throws if cargo-lambda fails. */
function buildWithCargoLambda(props: RustRunnerProps, outputDir: string): void {
  const lambdaDir = mkdtempSync(join(tmpdir(), 'freshq-runner-'));
  const manifestPath = resolve(props.manifestPath);
  const machineFlags = (process.env.FRESHQ_CARGO_LAMBDA_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const command = ['lambda', 'build', '--release', '--arm64', '--manifest-path', manifestPath];
  const args = [
    '--bin',
    props.binary,
    '--lambda-dir',
    lambdaDir,
    ...(props.cargoLambdaArgs ?? []),
    ...machineFlags,
  ];
  try {
    const { status, error } = spawnSync('cargo', [...command, ...args], {
      stdio: ['ignore', 2, 2],
      env: process.env,
    });
    const bootstrap = join(lambdaDir, props.binary, 'bootstrap');
    if (error !== undefined || status !== 0 || !existsSync(bootstrap)) {
      const reason = error?.message ?? `cargo ended with status ${status}`;
      throw new Error(
        `the task runner ${props.binary} (${manifestPath}) could not be built: ${reason}. ` +
          'Remedy: see the messages of cargo above; cargo-lambda must be on the PATH (`pip install cargo-lambda`); or set FRESHQ_SKIP_BUILD=1 to synthesize a template without code.',
      );
    }
    copyFileSync(bootstrap, join(outputDir, 'bootstrap'));
  } finally {
    rmSync(lambdaDir, { recursive: true, force: true });
  }
}
