import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { documents, ROOT } from './files';
import { run } from './run';

/** The end-to-end tests deploy this page's app. */
const DEPLOYED_ELSEWHERE = 'docs/how-to/producers.md';

const SNIPPETS = documents()
  .filter((file) => file !== DEPLOYED_ELSEWHERE)
  .flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return [...text.matchAll(/^([ ]*)```ts\n([\s\S]*?)^\1```$/gm)].map(
      ([, indent = '', code = ''], at) =>
        [`${file}, block ${at + 1}`, code.replaceAll(`\n${indent}`, '\n')] as const,
    );
  });

/** Lines before a block that is only a fragment of a stack. */
const FRAGMENT =
  "import { Duration } from 'aws-cdk-lib';\nimport { LifoQueue, TaskRunner } from 'freshq';\nexport function example(stack) {\n";

test.each(SNIPPETS)('%s synthesizes', (_place, code) => {
  const source = code.includes('import ') ? code : `${FRAGMENT}${code}}\n`;
  const { example } = run(source) as { example?: (stack: Stack) => unknown };
  const stack = new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'test');
  // A block without an example is a complete app, which has already run.
  expect(example === undefined || (example(stack) ?? stack.node.children.length > 0)).toBeTruthy();
});
