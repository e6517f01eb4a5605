import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { KINDS, ROOT, Synthesized } from './synthesis';

const before = { ...process.env };
let artifacts: string;

beforeEach(() => {
  artifacts = mkdtempSync(join(tmpdir(), 'freshq-placeholders-'));
  process.env.FRESHQ_ARTIFACTS = artifacts;
});

afterEach(() => {
  process.env = { ...before };
  rmSync(artifacts, { recursive: true, force: true });
});

function build(functions: readonly string[]): void {
  for (const name of functions) {
    mkdirSync(join(artifacts, name));
    writeFileSync(join(artifacts, name, 'bootstrap'), `code of ${name}`);
  }
}

describe.each(KINDS)('$kind', ({ synthesize, functions }) => {
  test('with FRESHQ_SKIP_BUILD=1, synthesis prints one warning about placeholders', () => {
    expect(synthesize('dev').allWarnings()).toEqual([
      expect.stringMatching(/FRESHQ_SKIP_BUILD=1 is set.*make build.*freshq:placeholders/s),
    ]);
  });

  test('with built functions, synthesis prints no warning', () => {
    delete process.env.FRESHQ_SKIP_BUILD;
    build(functions);
    expect(synthesize('dev').allWarnings()).toEqual([]);
  });

  // Other tools use a variable of this name. An earlier release read it and silently replaced every function.
  test('SKIP_BUILD=1 in the environment does not replace code with a placeholder', () => {
    delete process.env.FRESHQ_SKIP_BUILD;
    process.env.SKIP_BUILD = '1';
    expect(() => synthesize('dev')).toThrow(/has not been built/);
  });
});

describe('a bundle of the constructs', () => {
  let bundle: string;

  beforeEach(() => {
    delete process.env.FRESHQ_ARTIFACTS;
    delete process.env.FRESHQ_SKIP_BUILD;
    // Below the repository, so that the copies find aws-cdk-lib.
    mkdirSync(join(ROOT, 'target'), { recursive: true });
    bundle = mkdtempSync(join(ROOT, 'target', 'bundle-'));
    for (const file of ['artifacts.ts', 'packaged.ts']) {
      cpSync(join(ROOT, 'infra', 'shared', file), join(bundle, 'dist', 'shared', file));
    }
  });

  afterEach(() => rmSync(bundle, { recursive: true }));

  test('names the remedy: freshq must be external', () => {
    const { builtCode } = require(join(bundle, 'dist', 'shared', 'artifacts.ts'));
    expect(() => builtCode('trigger')).toThrow(
      /a bundler moved the constructs out of the package freshq\. Remedy: make freshq external in the bundler/,
    );
  });
});

test('the number of queues that fit into a stack is documented', () => {
  const count = (props: Partial<LifoQueueProps>) => Synthesized.queue(props).resources.length;
  expect(Math.floor(500 / count({ ingest: {} }))).toBe(4);
  expect([Math.floor(500 / count({})), count({})]).toEqual([5, 85]);
});
