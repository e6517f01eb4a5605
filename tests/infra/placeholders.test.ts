import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KINDS } from './synthesis';

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
