import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromYAMLFilePath } from 'prh';
import { committed, ROOT } from '../docs/files';
import { names, paragraphs, prose } from './prose';

const RULES = fromYAMLFilePath(join(__dirname, 'rules.yml'));
/** Files that contain prose for people. */
const READ = /\.(md|rs|ts|py|sh|toml|yml|in|mk)$|(^|\/)(Makefile|run)$/;
const SKIPPED = /^tests\/language\//;

/** An occurrence of a phrase that the rules do not allow. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly advice: string;
}

/** Maximum number of words per sentence in a document. The aim is 25. */
const LONGEST_SENTENCE = 35;

/** Checks one file against the rules and returns the findings. */
export function check(file: string, text: string): Finding[] {
  const line = (index: number) => text.slice(0, index).split('\n').length;
  const { words: named, place } = names(file, text);
  const matched = (prose: string, place: (index: number) => number) =>
    RULES.makeChangeSet(file, prose).diffs.map(({ index, matches, expected, rule }) => ({
      file,
      line: line(place(index)),
      found: (matches[0] as string).replace(/\s+/g, ' '),
      advice: [expected, rule?.raw?.prh].filter(Boolean).join('; '),
    }));
  const phrases = [...matched(prose(file, text), (index) => index), ...matched(named, place)];
  const sentences = paragraphs(file, text).flatMap(({ from, text: paragraph }) =>
    [...paragraph.matchAll(/[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*/g)]
      .map(([sentence], at, all) => ({ sentence: sentence.trim(), index: from + (all[at]?.index ?? 0) }))
      .filter(({ sentence }) => words(sentence) > LONGEST_SENTENCE)
      .map(({ sentence, index }) => ({
        file,
        line: line(index),
        found: `${sentence.slice(0, 40)} …`,
        advice: `shorter sentences; this one has ${words(sentence)} words`,
      })),
  );
  return [...phrases, ...sentences].sort((one, other) => one.line - other.line);
}

function words(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}`]/u.test(word)).length;
}

/** Formats a finding as one line, in the format of compiler errors. */
export function render({ file, line, found, advice }: Finding): string {
  return `${file}:${line}: "${found}": write ${advice}`;
}

if (require.main === module) {
  const files = committed(...process.argv.slice(2)).filter((file) => READ.test(file) && !SKIPPED.test(file));
  const findings = files.flatMap((file) => check(file, readFileSync(join(ROOT, file), 'utf8')));
  for (const finding of findings) console.error(render(finding));
  if (findings.length > 0) {
    console.error(`${findings.length} phrases to rewrite; tests/language/rules.yml has the rules`);
    process.exitCode = 1;
  }
}
