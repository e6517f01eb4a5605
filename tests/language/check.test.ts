import { check, render } from './check';

const lines = (file: string, text: string) => check(file, text).map(({ line }) => line);

test('a finding names file, line, phrase and remedy', () => {
  const [finding] = check('docs/page.md', 'First.\n\nThe task comes\nagain.\n');
  expect(finding && render(finding)).toBe(
    'docs/page.md:3: "comes again": write is redelivered, is retried, is returned',
  );
});

test('documents are read without their code', () => {
  expect(
    lines('a.md', '# Nobody\n\n`nobody` and\n\n```sh\nnobody\n```\n\n| nobody |\n|---|\n| a |\n'),
  ).toEqual([1, 9]);
});

test.each([
  [
    'a.rs',
    '/// Nobody\nfn nobody() {\n    log!("nobody is here"); // so\n    // many\n}\nconst NAME: &str = "nobody";\n',
  ],
  [
    'a.ts',
    '/** Nobody */\nfunction nobody() {\n  log(`nobody is ${here}`); // so\n  // many\n}\nconst name = "nobody";\n',
  ],
  [
    'a.py',
    '"""Nobody is here."""\ndef nobody():\n    log("nobody is here")  # so\n    # many\n\nNAME = "nobody"\n',
  ],
])('comments and strings of %s are read, names and keys are not', (file, text) => {
  expect(lines(file, text)).toEqual([1, 3, 3]);
});

test('a phrase does not span code', () => {
  expect(lines('a.rs', '// it comes\nfn f() {}\n// again\n')).toEqual([]);
});

test('comments of a Makefile are read', () => {
  expect(lines('Makefile', 'all: ## let nobody wait\n\techo nobody\n')).toEqual([1]);
});

test.each([
  'what is no task',
  'whoever calls',
  'who waits',
  'what falls',
  'this is no message',
  'the queue refuses it',
  'its lease ran out',
  'it mends the cause',
  'room for what it bears',
  'it lasts for ever',
  'its limit, said aloud',
  'the sweep is told',
  'asked so many times',
  'written anew',
  'the rule stands twice',
  'it gives back a task',
  'a call given up',
  'in the dead letters',
])('"%s" is a finding', (phrase) => {
  expect(lines('a.md', `A text in which ${phrase}.`)).toEqual([1]);
});

test.each(['Connection refused', 'a dead-letter queue', 'dead letter queue', 'the lease expires'])(
  '"%s" is fine',
  (phrase) => {
    expect(lines('a.md', phrase)).toEqual([]);
  },
);

test('a long sentence of a document is a finding, a long table and a long comment are not', () => {
  const long = 'word '.repeat(36).trim();
  expect(lines('a.md', `Short.\n\nShort again. ${long}.\n`)).toEqual([3]);
  expect(lines('a.md', `| a |\n|---|\n| ${long} |\n`)).toEqual([]);
  expect(lines('a.md', `Short. ${'`a b.c` '.repeat(20)}.\n`)).toEqual([]);
  expect(lines('a.rs', `// ${long}\n`)).toEqual([]);
});
