import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parser } from '@lezer/markdown';
import { agentQueue, environment } from '../contract.json';
import { freshqVerbs, makeTargets, variablesOf } from './commands';
import { committed, documents, ROOT } from './files';
import { slug } from './slug';

const DOCUMENTS = documents();
const TEXTS = new Map(DOCUMENTS.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const FILES = committed();
const FOLDERS = new Set(FILES.flatMap((file) => parents(file)));

function parents(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** Returns the texts of all nodes of the given kinds. */
function nodes(file: string, ...kinds: string[]): string[] {
  const text = TEXTS.get(file) ?? '';
  const found: string[] = [];
  parser.parse(text).iterate({
    enter({ name, from, to }) {
      if (kinds.includes(name)) found.push(text.slice(from, to));
    },
  });
  return found;
}

/** Returns the anchors of a document, one per heading. */
function anchors(file: string): Set<string> {
  const headings = nodes(file, 'ATXHeading1', 'ATXHeading2', 'ATXHeading3', 'ATXHeading4');
  return new Set(
    headings.map((heading) => slug(heading.replace(/^#+ /, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'))),
  );
}

/** Returns the text of a file's code spans and code blocks. */
function commands(file: string): string {
  return nodes(file, 'InlineCode', 'CodeText').join('\n');
}

test.each(DOCUMENTS)('links in %s lead to existing files and headings', (file) => {
  const links = nodes(file, 'URL').filter((url) => !/^[a-z]+:/.test(url));
  const broken = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchors(target).has(anchor);
  });
  expect(broken).toEqual([]);
});

test.each(DOCUMENTS)('the commands in %s exist', (file) => {
  const text = commands(file);
  const targets = makeTargets();
  const verbs = new Set([...freshqVerbs().keys(), 'help']);
  const unknown = [
    ...[...text.matchAll(/(?:^|[\s`$(])make ((?:[A-Z_]+=\S+ )*)([a-z][a-z0-9-]*)/gm)]
      .map(([, , target = '']) => target)
      .filter((target) => !targets.has(target)),
    ...[...text.matchAll(/`freshq ([a-z-]+)/g)]
      .map(([, verb = '']) => verb)
      .filter((verb) => !verbs.has(verb)),
  ];
  expect(unknown).toEqual([]);
});

test.each(DOCUMENTS)('the commands in %s accept the given variables', (file) => {
  const uses = [
    ...commands(file).matchAll(/(?:^|[\s`(])make ([a-z][a-z0-9-]*)((?: [A-Z_]+=(?:"[^"]*"|\S+))+)/gm),
  ];
  const wrong = uses.flatMap(([, command = '', given = '']) =>
    [...given.matchAll(/ ([A-Z_]+)=/g)]
      .map(([, name = '']) => name)
      .filter((name) => !variablesOf(command).has(name))
      .map((name) => `make ${command} ${name}=`),
  );
  expect(wrong).toEqual([]);
});

test.each(DOCUMENTS)('the files that %s names exist', (file) => {
  const roots = new Set(FILES.map((name) => name.split('/')[0]));
  const named = nodes(file, 'InlineCode')
    .map((span) => span.replace(/^`+|`+$/g, ''))
    .filter((span) => /^[\w.-]+(\/[\w.-]+)+\/?$/.test(span) && roots.has(span.split('/')[0]));
  const missing = named.filter((name) => {
    const path = name.replace(/\/$/, '');
    return !FILES.includes(path) && !FOLDERS.has(path) && !IGNORED.test(path);
  });
  expect(missing).toEqual([]);
});

/** Folders that builds and installations create. */
const IGNORED = /^(cdk\.out|target|node_modules|\.local|\.venv)(\/|$)/;

test.each(['guarantees', 'circuit-breaker'])('the tests that %s names exist', (page) => {
  const sources = FILES.filter((name) => /^(crates|lambdas|tests)\/.*\.(rs|py|ts)$/.test(name))
    .map((name) => readFileSync(join(ROOT, name), 'utf8'))
    .join('\n');
  const named = nodes(`docs/explanation/${page}.md`, 'InlineCode')
    .map((span) => /^`(?:\w+::)*([a-z0-9]+(?:_[a-z0-9]+){3,})…?`$/.exec(span)?.[1])
    .filter((name) => name !== undefined);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !sources.includes(`fn ${name}`) && !sources.includes(`def ${name}`))).toEqual(
    [],
  );
});

test('docs/README.md links every user page, and docs/internals/README.md every other page', () => {
  const pages = DOCUMENTS.filter(
    (file) => /^docs\/[^/]+\/[^/]+\.md$/.test(file) && !/^docs\/(adr|internals\/README)/.test(file),
  );
  const linked = ['docs/', 'docs/internals/'].flatMap((folder) =>
    nodes(`${folder}README.md`, 'URL').map((url) => `${folder}${url}`),
  );
  expect(pages.filter((page) => !linked.includes(page))).toEqual([]);
  expect(nodes('docs/README.md', 'URL').filter((url) => url.startsWith('internals/'))).toEqual([]);
});

test('docs/explanation/architecture.md names every folder of the repository', () => {
  const tree = nodes('docs/explanation/architecture.md', 'CodeText').join('\n');
  const folders = [...FOLDERS].filter((folder) => /^[a-z]+$/.test(folder));
  expect(folders.length).toBeGreaterThan(8);
  expect(folders.filter((folder) => !new RegExp(`^${folder}/`, 'm').test(tree))).toEqual([]);
});

test('tests/README.md names every folder of the tests', () => {
  const table = commands('tests/README.md');
  const folders = [...FOLDERS].flatMap((folder) => /^tests\/([a-z0-9]+)$/.exec(folder)?.[1] ?? []);
  expect(folders.length).toBeGreaterThan(15);
  expect(folders.filter((folder) => !table.split('\n').includes(`\`${folder}\``))).toEqual([]);
});

test('the architecture diagram shows every function', () => {
  const diagram = readFileSync(join(ROOT, 'docs', 'img', 'architecture.svg'), 'utf8');
  const functions = [...Object.keys(environment), ...Object.keys(agentQueue.environment)];
  expect(functions.filter((name) => !diagram.includes(`>${name}</text>`))).toEqual([]);
});

test('docs/adr/README.md links every decision record', () => {
  const decisions = DOCUMENTS.filter((file) => /^docs\/adr\/\d/.test(file));
  const linked = nodes('docs/adr/README.md', 'URL').map((url) => `docs/adr/${url}`);
  expect(linked.sort()).toEqual(decisions.sort());
});

test('the README is short and shows make demo and make test', () => {
  const readme = TEXTS.get('README.md') ?? '';
  expect(readme.split('\n').length).toBeLessThanOrEqual(151);
  expect(readme).toMatch(/^make demo /m);
  expect(readme).toMatch(/^make test /m);
});
