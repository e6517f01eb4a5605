import { parser as javascript } from '@lezer/javascript';
import { parser as markdown } from '@lezer/markdown';
import { parser as python } from '@lezer/python';
import { parser as rust } from '@lezer/rust';

/** The part of a parser's API that the check needs, which visits the nodes of a text with their names and positions. */
interface Parser {
  parse(text: string): {
    iterate(visit: { enter(node: { name: string; from: number; to: number }): void }): void;
  };
}

/** Replaces text that is not prose, so that no phrase spans it. */
const GAP = '\u00b7';

const PARSERS: Record<string, Parser> = {
  md: markdown,
  py: python,
  rs: rust,
  ts: javascript.configure({ dialect: 'ts' }),
};

/** Nodes with prose. The rest of a program is not prose. */
const COMMENTS = new Set(['LineComment', 'BlockComment', 'Comment']);
const STRINGS = new Set(['String', 'RawString', 'TemplateString', 'FormatString']);
/** Nodes for names in a program, by the suffix of the node name: `BoundIdentifier`, `PropertyName`. */
const NAMES = /(Identifier|Name|Definition)$/;
/** Nodes inside prose that are code. */
const CODE = new Set([
  ...['FencedCode', 'CodeBlock', 'InlineCode', 'URL', 'HTMLBlock'],
  ...['Interpolation', 'FormatReplacement'],
]);

/**
 * Returns the prose of a file: a program's comments and strings, or a document's text. Each character keeps its
 * position. Gaps replace other text, and spaces replace line breaks, because a phrase can span lines.
 */
export function prose(file: string, text: string): string {
  const parser = PARSERS[file.slice(file.lastIndexOf('.') + 1)];
  const place = parser === undefined ? lineComments(text) : parsed(parser, text);
  return place.replace(/\s/g, ' ');
}

function parsed(parser: Parser, text: string): string {
  const kept = parser === markdown ? [...text] : [...text.replace(/\S/g, GAP)];
  const put = (from: number, part: string) => {
    for (let at = 0; at < part.length; at += 1) kept[from + at] = part[at] as string;
  };
  // Positions are in UTF-16 units, as in the parsers.
  if (parser === markdown) put(0, text);
  parser.parse(text).iterate({
    enter({ name, from, to }) {
      const part = text.slice(from, to);
      if (COMMENTS.has(name) && parser !== markdown) put(from, comment(part));
      else if (STRINGS.has(name) && /\p{L}\s+\p{L}/u.test(part)) put(from, literal(part));
      else if (CODE.has(name)) put(from, part.replace(/\S/g, GAP));
    },
  });
  return kept.slice(0, text.length).join('');
}

/**
 * Returns the words of each name in a program, once per name, as sentences: `leaseRanOut` becomes "lease ran out. ".
 * `place` returns the position of the name that contains an index of this text.
 */
export function names(file: string, text: string): { words: string; place: (index: number) => number } {
  const first = new Map<string, number>();
  const parser = PARSERS[file.slice(file.lastIndexOf('.') + 1)];
  if (parser !== undefined && parser !== markdown) {
    parser.parse(text).iterate({
      enter({ name, from, to }) {
        const part = text.slice(from, to);
        if (NAMES.test(name) && /^\w+$/.test(part) && !first.has(part)) first.set(part, from);
      },
    });
  }
  const starts: { at: number; from: number }[] = [];
  let words = '';
  for (const [name, from] of first) {
    starts.push({ at: words.length, from });
    words += `${name
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .replaceAll('_', ' ')
      .replace(/dead letter/i, 'dead-letter')}. `;
  }
  return { words, place: (index) => starts.findLast(({ at }) => at <= index)?.from ?? 0 };
}

/** Returns a comment without its markers and without the code in it. */
function comment(part: string): string {
  return part
    .replace(/^[ \t]*(\/\/[/!]?|\/\*\*?|\*(?!\/)|#)/gm, (mark) => ' '.repeat(mark.length))
    .replace(/`[^`]+`/g, (code) => code.replace(/\S/g, GAP));
}

/** Returns a literal without its escape sequences. */
function literal(part: string): string {
  return part
    .replace(/\\[\s\S]/g, '  ')
    .replace(/`[^`\n]+`/g, (code) => (part.startsWith('`') ? code : code.replace(/\S/g, GAP)));
}

/** Returns the comments in a Makefile, a shell script or a settings file: everything after a `#`. */
function lineComments(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const start = /(^|\s)#/.exec(line);
      if (start === null) return line.replace(/\S/g, GAP);
      const at = start.index;
      return line.slice(0, at).replace(/\S/g, GAP) + comment(line.slice(at));
    })
    .join('\n');
}

/** Returns the paragraphs of a document, without tables. A link is replaced with its text. */
export function paragraphs(file: string, text: string): { from: number; text: string }[] {
  const found: { from: number; text: string }[] = [];
  if (!file.endsWith('.md')) return found;
  markdown.parse(text).iterate({
    enter({ name, from, to }) {
      const part = text.slice(from, to);
      if (name !== 'Paragraph' || part.startsWith('|')) return;
      const plain = part
        .replace(/`[^`]*`/g, (code) => code.replace(/[\s.!?]/g, '_'))
        .replace(/\]\([^)]*\)/g, (link) => ' '.repeat(link.length))
        .replace(/\n/g, ' ');
      found.push({ from, text: plain });
    },
  });
  return found;
}
