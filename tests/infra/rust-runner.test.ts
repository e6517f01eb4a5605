import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import type { RustRunnerProps } from '../../infra/tasks/runners/rust';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { resolveSettings } from '../../infra/tasks/settings';
import { newApp, Synthesized } from './synthesis';

const original = { ...process.env };
let scratch: string;
let manifestPath: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'freshq-test-'));
  manifestPath = join(scratch, 'Cargo.toml');
  writeFileSync(manifestPath, '[package]\nname = "my-runner"\nversion = "0.1.0"\n');
});

afterEach(() => {
  process.env = { ...original };
  rmSync(scratch, { recursive: true, force: true });
});

/**
 * Puts a fake `cargo` first on the PATH. The fake records its arguments and runs `script`. Returns a function that
 * reads the arguments.
 */
function useCargo(script: string): () => string {
  const bin = join(scratch, 'bin');
  mkdirSync(bin);
  const log = join(scratch, 'arguments');
  writeFileSync(join(bin, 'cargo'), `#!/bin/sh\necho "$@" > '${log}'\n${script}\n`);
  chmodSync(join(bin, 'cargo'), 0o755);
  process.env.PATH = `${bin}${delimiter}${original.PATH}`;
  return () => readFileSync(log, 'utf8').trim();
}

/** Synthesizes a queue with the Rust runner. The functions of this package are already built. */
function synthesizeWithBuild(props: Partial<RustRunnerProps> = {}): { assembly: string; stack: Stack } {
  const artifacts = join(scratch, 'artifacts');
  for (const binary of ['create-tasks', 'trigger', 'sweep-tasks', 'count-shed', 'process-tasks']) {
    mkdirSync(join(artifacts, binary), { recursive: true });
    writeFileSync(join(artifacts, binary, 'bootstrap'), binary);
  }
  delete process.env.FRESHQ_SKIP_BUILD;
  process.env.FRESHQ_ARTIFACTS = artifacts;
  const app = newApp({ 'aws:cdk:bundling-stacks': ['**'] });
  const stack = new Stack(app, 'test');
  new LifoQueue(stack, 'queue', { runner: TaskRunner.rust({ manifestPath, binary: 'my-runner', ...props }) });
  return { assembly: app.synth().directory, stack };
}

function bootstraps(assembly: string): string[] {
  return readdirSync(assembly)
    .map((asset) => join(assembly, asset, 'bootstrap'))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8').trim());
}

const BUILDS = `while [ "$1" != --lambda-dir ]; do shift; done; mkdir -p "$2/my-runner"; echo built > "$2/my-runner/bootstrap"`;

test('with FRESHQ_SKIP_BUILD=1, the code is the placeholder', () => {
  const synthesized = Synthesized.queue({ runner: TaskRunner.rust({ manifestPath, binary: 'my-runner' }) });
  const code = (name: string) => synthesized.fn(name).Code.S3Key;
  expect(code('process-tasks')).toBe(code('trigger'));
  expect(JSON.parse(synthesized.fn('process-tasks').Environment.Variables.TASK_RUNNER)).toEqual({
    kind: 'custom',
  });
});

test('cargo-lambda builds the binary for arm64, and it replaces process-tasks', () => {
  const calledWith = useCargo(BUILDS);
  const { assembly } = synthesizeWithBuild({ cargoLambdaArgs: ['--features', 'x'] });
  expect(calledWith()).toMatch(
    /^lambda build --release --arm64 --manifest-path \S+Cargo\.toml --bin my-runner --lambda-dir \S+ --features x$/,
  );
  expect(bootstraps(assembly).sort()).toEqual([
    'built',
    'count-shed',
    'create-tasks',
    'sweep-tasks',
    'trigger',
  ]);
});

test('flags from FRESHQ_CARGO_LAMBDA_FLAGS come last', () => {
  const calledWith = useCargo(BUILDS);
  process.env.FRESHQ_CARGO_LAMBDA_FLAGS = '--skip-target-check  --compiler cargo';
  synthesizeWithBuild();
  expect(calledWith()).toMatch(/ --skip-target-check --compiler cargo$/);
});

test('a prebuilt binary is used without a build', () => {
  useCargo('exit 1');
  mkdirSync(join(scratch, 'artifacts', 'my-runner'), { recursive: true });
  writeFileSync(join(scratch, 'artifacts', 'my-runner', 'bootstrap'), 'beforehand');
  expect(bootstraps(synthesizeWithBuild().assembly)).toContain('beforehand');
});

test.each([
  ['fails', 'exit 3', /cargo ended with status 3/],
  ['builds nothing', 'exit 0', /cargo ended with status 0/],
])('the error names the remedy if cargo %s', (_what, script, message) => {
  useCargo(script);
  expect(() => synthesizeWithBuild()).toThrow(message);
  expect(() => synthesizeWithBuild()).toThrow(
    /cargo-lambda must be on the PATH .* or set FRESHQ_SKIP_BUILD=1/,
  );
});

test('the error names the remedy if cargo is not installed', () => {
  process.env.PATH = scratch;
  expect(() => synthesizeWithBuild()).toThrow(/could not be built: .*ENOENT.*Remedy/s);
});

test("the runner's environment variables are added to those of the queue", () => {
  const environment = { QUOTES_URL: 'https://quotes.example.com' };
  const runner = TaskRunner.rust({ manifestPath, binary: 'my-runner', environment });
  const { Variables } = Synthesized.queue({ runner }).fn('process-tasks').Environment;
  expect(Variables).toMatchObject({ ...environment, TASK_RUNNER: '{"kind":"custom"}' });
});

test.each<[string, Partial<RustRunnerProps>, string]>([
  ['a manifest that does not exist', { manifestPath: '/nowhere/Cargo.toml' }, 'runner.manifestPath'],
  ['a directory as manifest', { manifestPath: tmpdir() }, 'runner.manifestPath'],
  ['a path as binary', { binary: '../evil' }, 'runner.binary'],
  ["a variable of the queue's", { environment: { TASK_TABLE_NAME: 'x' } }, 'runner.environment'],
  ["the queue's settings", { environment: { SETTINGS_PROCESS_TASKS: '{}' } }, 'runner.environment'],
])('rejected: %s', (_what, props, setting) => {
  const runner = TaskRunner.rust({ manifestPath, binary: 'my-runner', ...props });
  expect(runner._problems(resolveSettings({})).map((problem) => problem.setting)).toEqual([setting]);
});

test('the error names a function that was not built and the remedy', () => {
  delete process.env.FRESHQ_SKIP_BUILD;
  process.env.FRESHQ_ARTIFACTS = join(scratch, 'nothing');
  expect(() => Synthesized.queue()).toThrow(
    /create-tasks has not been built: .*`make build`.*FRESHQ_SKIP_BUILD=1/s,
  );
});
