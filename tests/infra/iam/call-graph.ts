import { count, type RustFile, type RustFunction } from './rust-source';

/** A call of the AWS SDK, `client.put_item()`. */
export interface SdkCall {
  readonly method: string;
  /** The function it stands in. */
  readonly in: RustFunction;
}

/** What a function of the code mentions. */
interface Mentions {
  /** Types, each `crate::Type`. */
  readonly types: ReadonlySet<string>;
  /** Methods that are called on a value: `name/arity`. */
  readonly methods: ReadonlySet<string>;
  /** Functions of a type or a trait, called or handed on by path: `crate::Type::name`. */
  readonly associated: ReadonlySet<string>;
  readonly free: readonly FreeCall[];
}

/** A free function that is called, or handed on to be called. */
interface FreeCall {
  readonly name: string;
  /** How many arguments it is given, if it is called. */
  readonly arity?: number;
  /** A file, or a folder, or the last segment of the path of the module that has it. */
  readonly module: string;
}

/**
 * Which functions a program reaches, by *rapid type analysis*: a method is reached if it is called by its name and
 * number of arguments anywhere in what is reached, and a type that has it is mentioned there. It errs to one side: it
 * may take for reachable what is not, as where two types have a method of one name.
 */
export class CallGraph {
  private readonly functions: readonly RustFunction[];
  private readonly files: ReadonlyMap<string, RustFile>;
  private readonly traits: ReadonlySet<string>;
  /** The types of the fields of each struct and enum. */
  private readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
  private readonly mentions = new Map<RustFunction, Mentions>();

  /**
   * @param files everything that may be reached
   * @param sdk the SDK's methods that are calls
   */
  constructor(
    files: readonly RustFile[],
    private readonly sdk: ReadonlySet<string>,
  ) {
    this.files = new Map(files.map((file) => [file.file, file]));
    this.functions = files.flatMap((file) => file.functions);
    this.fields = new Map(
      files.flatMap((file) =>
        file.types.map(({ crate, name, code }) => [`${crate}::${name}`, typesIn(code, file)] as const),
      ),
    );
    this.traits = new Set(
      files.flatMap(({ code }) => [...code.matchAll(/\btrait\s+(\w+)/g)].map(([, name = '']) => name)),
    );
  }

  /** What is reached from a set of functions, themselves among them. */
  reached(from: readonly RustFunction[]): Set<RustFunction> {
    const reached = new Set(from);
    for (;;) {
      const all = [...reached].map((each) => this.mentionsOf(each));
      const types = this.withFields(union(all.map((each) => each.types)));
      const methods = union(all.map((each) => each.methods));
      const associated = union(all.map((each) => each.associated));
      const free = new Map(
        all.flatMap((each) => each.free.map((call) => [`${call.module}::${call.name}/${call.arity}`, call])),
      );
      const more = this.functions.filter(
        (each) => !reached.has(each) && this.isCalled(each, types, methods, associated, [...free.values()]),
      );
      if (more.length === 0) return reached;
      for (const each of more) reached.add(each);
    }
  }

  /** The calls of the SDK in some functions. */
  calls(functions: Iterable<RustFunction>): SdkCall[] {
    return [...functions].flatMap((each) =>
      [...each.code.matchAll(/\.\s*(\w+)\(\s*\)/g)]
        .map(([, method = '']) => method)
        .filter((method) => this.sdk.has(method))
        .map((method) => ({ method, in: each })),
    );
  }

  private isCalled(
    { name, owner, trait, arity, crate, file }: RustFunction,
    types: ReadonlySet<string>,
    methods: ReadonlySet<string>,
    associated: ReadonlySet<string>,
    free: Mentions['free'],
  ): boolean {
    if (owner === undefined) {
      return free.some(
        (call) => call.name === name && (call.arity ?? arity) === arity && isModule(file, call.module),
      );
    }
    if (!this.traits.has(owner) && !types.has(`${crate}::${owner}`)) return false;
    // What implements a trait of somebody else's may be called by somebody else: Drop, Future, From.
    if (trait !== undefined && !this.traits.has(trait)) return true;
    return (
      methods.has(`${name}/${arity}`) ||
      associated.has(`${crate}::${owner}::${name}`) ||
      associated.has(`${crate}::${trait}::${name}`)
    );
  }

  /** Some types, and those of their fields. */
  private withFields(types: ReadonlySet<string>): Set<string> {
    const all = new Set(types);
    // What is added is looked at in its turn.
    for (const type of all) for (const field of this.fields.get(type) ?? []) all.add(field);
    return all;
  }

  private mentionsOf(each: RustFunction): Mentions {
    const known = this.mentions.get(each);
    if (known !== undefined) return known;
    const file = this.files.get(each.file);
    if (file === undefined) throw new Error(`${each.file} is not among the files`);
    const found = mentions(each, file);
    this.mentions.set(each, found);
    return found;
  }
}

function union(sets: readonly ReadonlySet<string>[]): Set<string> {
  return new Set(sets.flatMap((set) => [...set]));
}

/** Whether a file is the module `name`, or lies in its folder: a module may hand on what is in its own modules. */
function isModule(file: string, name: string): boolean {
  return (
    file === name ||
    file.startsWith(`${name}/`) ||
    file.endsWith(`/${name}.rs`) ||
    file.includes(`/${name.replaceAll('_', '-')}/`) ||
    file.includes(`/${name}/`)
  );
}

/** The types that some code of a file names, each `crate::Type`. */
function typesIn(code: string, file: RustFile): Set<string> {
  return new Set([...code.matchAll(/\b[A-Z]\w+\b/g)].map(([name]) => typeOf(name, file)));
}

/** A type as `crate::Type`, whatever a file calls it. */
function typeOf(type: string, { imports, crate }: RustFile): string {
  const { name, root } = imports.get(type) ?? { name: type, root: 'self' };
  return `${LOCAL.includes(root) ? crate : root}::${name}`;
}

const LOCAL = ['crate', 'self', 'super', 'Self'];

function mentions({ code: body, owner }: RustFunction, within: RustFile): Mentions {
  const { imports, crate, file } = within;
  const types = typesIn(body, within);
  if (owner !== undefined) types.add(`${crate}::${owner}`);
  const methods = new Set<string>();
  const associated = new Set<string>();
  const free: FreeCall[] = [];
  for (const call of body.matchAll(/\.\s*([a-z_]\w*)\s*(?:::<[^()]*>)?\(/g)) {
    methods.add(`${call[1]}/${count(body, call.index + call[0].length - 1)}`);
  }
  for (const [, type = '', name] of body.matchAll(/\b([A-Z]\w*)(?:::<[^()]*?>)?::([a-z_]\w*)/g)) {
    associated.add(`${type === 'Self' ? `${crate}::${owner}` : typeOf(type, within)}::${name}`);
  }
  for (const call of body.matchAll(/\b([a-z_]\w*)::([a-z_]\w*)\b(?!::)(?:::<[^()]*>)?(\(?)/g)) {
    const [, module = '', name = ''] = call;
    free.push({
      name,
      module: LOCAL.includes(module) ? file.slice(0, file.indexOf('/src/')) : module,
      arity: argumentsOf(body, call),
    });
  }
  for (const call of body.matchAll(
    /(?<![.:\w])([a-z_]\w*)\b(?!\s*(?:::[^<]|!|:[^:]))(?:::<[^()]*>)?(\(?)/g,
  )) {
    const [, name = ''] = call;
    const arity = argumentsOf(body, call);
    free.push({ name, module: file, arity });
    const imported = imports.get(name);
    // From whatever module has it.
    if (imported !== undefined) free.push({ name: imported.name, module: 'src', arity });
  }
  return { types, methods, associated, free };
}

/** How many arguments a call has, whose match ends with its opening bracket; undefined without one. */
function argumentsOf(body: string, { 0: found, index }: RegExpExecArray): number | undefined {
  return found.endsWith('(') ? count(body, index + found.length - 1) : undefined;
}
