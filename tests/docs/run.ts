import { transformSync } from '@swc/core';

/** Returns the `require` function of a snippet, which resolves `freshq` to this package. */
function fromProject(name: string): unknown {
  return name === 'freshq' ? require('../../infra') : require(name);
}

/** Runs a TypeScript script as a module and returns its exports. */
export function run(
  script: string,
  require_: (name: string) => unknown = fromProject,
): Record<string, unknown> {
  const { code } = transformSync(script, {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  const exported: Record<string, unknown> = {};
  new Function('exports', 'require', code)(exported, require_);
  return exported;
}
