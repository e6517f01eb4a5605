import { check, render } from './check';
import { files, fine, found } from './examples.json';

const lines = (file: string, text: string) => check(file, text).map(({ line }) => line);

test('a finding names file, line, phrase and remedy', () => {
  const [finding] = check('docs/page.md', 'First.\n\nThe queue\nrefused it.\n');
  expect(finding && render(finding)).toBe('docs/page.md:4: "refused": write reject, rejection');
});

test.each(files)(
  'in $file, prose in documents and comments, strings with spaces and names are checked, but code is not',
  (each) => {
    expect(lines(each.file, each.text)).toEqual(each.lines);
  },
);

test.each(found)('"%s" is a finding', (phrase) => {
  expect(lines('a.md', `A text in which ${phrase}.`)).toEqual([1]);
});

test.each(fine)('"%s" is fine', (phrase) => {
  expect(lines('a.md', phrase)).toEqual([]);
});

test('a long sentence in a document is a finding, but a long table or comment is not', () => {
  const long = 'word '.repeat(36).trim();
  expect(lines('a.md', `Short.\n\nShort again. ${long}.\n`)).toEqual([3]);
  expect(lines('a.md', `| a |\n|---|\n| ${long} |\n`)).toEqual([]);
  expect(lines('a.md', `Short. ${'`a b.c` '.repeat(20)}.\n`)).toEqual([]);
  expect(lines('a.rs', `// ${long}\n`)).toEqual([]);
});
