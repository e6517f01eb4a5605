import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './files';

/** Returns a text with every sequence of white space and of a string's line continuation as one space. */
function oneLine(text: string): string {
  return text.replace(/[\\\s]+/g, ' ').trim();
}

test('docs/explanation/architecture.md quotes the expressions of a take', () => {
  const page = readFileSync(join(ROOT, 'docs', 'explanation', 'architecture.md'), 'utf8');
  const [, update = '', condition = ''] = /```text\n(SET [^`]*)\ncondition: ([^`]*)```/.exec(page) ?? [];
  const source = readFileSync(
    join(ROOT, 'crates', 'lifo-queue', 'src', 'store', 'dynamodb', 'update.rs'),
    'utf8',
  );
  const [take = ''] = /fn take_update[\s\S]*?\n {4}\}\n/.exec(source) ?? [];
  // The parts for a task with a ttl in seconds that may run beside others.
  const [, deadline = '', inTime = ''] = /Ttl::Seconds\(_\) => \("(.*?)", "(.*?)"\)/.exec(take) ?? [];
  const [, alone = ''] = /false => "(.*?)"/.exec(take) ?? [];
  const expressions = oneLine(take)
    .replace('{deadline}', deadline)
    .replace('{alone}', alone)
    .replace('{in_time}', inTime);
  expect(expressions).toContain(`"${oneLine(update)}"`);
  expect(expressions).toContain(`"${oneLine(condition)}"`);
});
