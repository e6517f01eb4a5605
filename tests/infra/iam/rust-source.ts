import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../synthesis';

/** A function of the Rust code, or a method. */
export interface RustFunction {
  readonly crate: string;
  /** The file, from the root of the repository. */
  readonly file: string;
  readonly name: string;
  /** The type whose method it is, or the trait that provides it; none for a free function. */
  readonly owner?: string;
  /** The trait that `owner` implements with it. */
  readonly trait?: string;
  /** Parameters beside `self`. */
  readonly arity: number;
  /** From its parameters to the end of what it does: code without comments, texts and tests. */
  readonly code: string;
}

/** A struct or an enum. */
export interface RustType {
  readonly crate: string;
  readonly name: string;
  /** Its fields, as code. */
  readonly code: string;
}

/** A file of the Rust code. */
export interface RustFile {
  readonly crate: string;
  readonly file: string;
  readonly code: string;
  /** Imported names: what they are called where they come from, and the first segment of their path. */
  readonly imports: ReadonlyMap<string, { readonly name: string; readonly root: string }>;
  readonly functions: readonly RustFunction[];
  readonly types: readonly RustType[];
}

/** The files of a crate, without those that hold tests only. `folder` is where its `src` is. */
export function readCrate(folder: string): RustFile[] {
  const crate = basename(folder).replaceAll('-', '_');
  return readdirSync(join(ROOT, folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.rs') && !/(^|\/)tests(\.rs|\/)/.test(file))
    .sort()
    .map((name) =>
      parse(crate, join(folder, 'src', name), readFileSync(join(ROOT, folder, 'src', name), 'utf8')),
    );
}

/** What stands in one file. */
export function parse(crate: string, file: string, source: string): RustFile {
  const code = withoutTests(withoutTexts(source));
  return {
    crate,
    file,
    code,
    imports: imports(code),
    functions: functions(crate, file, code),
    types: types(crate, code),
  };
}

/** Comments, texts and characters: what may hold braces and names that are no code. */
const NO_CODE =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\bb?r(#*)"[\s\S]*?"\1|b?"(?:\\[\s\S]|[^"\\])*"|'(?:\\[^']+|[^'\\])'/g;

function withoutTexts(source: string): string {
  return source.replace(NO_CODE, (found) => (found.startsWith('/') ? ' ' : '""'));
}

function withoutTests(code: string): string {
  let rest = code;
  for (;;) {
    const found = /#\[cfg\(test\)\]\s*(pub(\([^)]*\))?\s+)?(mod|impl|fn|use)\b[^;{]*/.exec(rest);
    if (found === null) return rest;
    const end = found.index + found[0].length;
    const stop = rest[end] === '{' ? closing(rest, end) + 1 : end + 1;
    rest = rest.slice(0, found.index) + rest.slice(stop);
  }
}

const PAIRS: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };

/** The index of the bracket that closes the one at `open`. */
function closing(code: string, open: number): number {
  const opens = code[open] ?? '';
  const closes = PAIRS[opens];
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === opens) depth += 1;
    else if (code[at] === closes) depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`nothing closes the ${opens} at ${open}: ${code.slice(open, open + 80)}`);
}

/** How many arguments or parameters stand between the brackets at `open`. */
export function count(code: string, open: number): number {
  const inside = code.slice(open + 1, closing(code, open)).trim();
  let depth = 0;
  let commas = 0;
  for (const [at, character] of [...inside].entries()) {
    if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    // The commas of a generic type, `Map<A, B>`; the arrow of a closure closes nothing.
    else if (character === '<' && /\w/.test(inside[at - 1] ?? '')) depth += 1;
    else if (character === '>' && !'-='.includes(inside[at - 1] ?? '') && depth > 0) depth -= 1;
    else if (character === ',' && depth === 0) commas += 1;
  }
  if (inside === '') return 0;
  return inside.endsWith(',') ? commas : commas + 1;
}

function imports(code: string): RustFile['imports'] {
  const found = new Map<string, { name: string; root: string }>();
  for (const [, path = ''] of code.matchAll(/\buse\s+([^;]+);/g)) {
    const [root = ''] = path.trim().split('::');
    for (const [, name = '', alias] of path.matchAll(/(\w+)(?:\s+as\s+(\w+))?\s*(?=[,}]|$)/g)) {
      found.set(alias ?? name, { name, root });
    }
  }
  return found;
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly owner: string;
  readonly trait?: string;
}

const NAME = String.raw`(?:\w+::)*(\w+)(?:<[^{}]*?>)?`;

/** The `impl` and `trait` blocks of a file. */
function blocks(code: string): Block[] {
  const heads = [
    ...code.matchAll(
      new RegExp(String.raw`\bimpl(?:<[^{}]*?>)?\s+(?:${NAME}\s+for\s+)?&?${NAME}\s*(?:where[^{]*)?\{`, 'g'),
    ),
    ...code.matchAll(/()\btrait\s+(\w+)[^{;]*\{/g),
  ];
  return heads.map((head) => {
    const open = head.index + head[0].length - 1;
    const [, trait, owner = ''] = head;
    return { from: open, to: closing(code, open), owner, ...(trait && { trait }) };
  });
}

function functions(crate: string, file: string, code: string): RustFunction[] {
  const within = blocks(code);
  return [...code.matchAll(/\bfn\s+(\w+)/g)].flatMap(({ index, 0: head, 1: name = '' }) => {
    const parameters = code.indexOf('(', index + head.length);
    const after = closing(code, parameters) + 1;
    const [end = ''] = /[{;]/.exec(code.slice(after)) ?? [];
    if (end !== '{') return []; // a trait's method without a body
    const open = code.indexOf('{', after);
    const block = within
      .filter(({ from, to }) => from < index && index < to)
      .sort((one, other) => other.from - one.from)[0];
    const self = /^\(\s*(&\s*)?('\w+\s+)?(mut\s+)?self\b/.test(code.slice(parameters)) ? 1 : 0;
    const { owner, trait } = block ?? {};
    const arity = count(code, parameters) - self;
    return [
      { crate, file, name, owner, trait, arity, code: code.slice(parameters, closing(code, open) + 1) },
    ];
  });
}

function types(crate: string, code: string): RustType[] {
  return [...code.matchAll(/\b(?:struct|enum)\s+(\w+)[^({;]*([({]?)/g)].map(
    ({ index, 0: head, 1: name = '', 2: open }) => {
      const at = index + head.length - 1;
      return { crate, name, code: open ? code.slice(at, closing(code, at)) : '' };
    },
  );
}
