/** A kind of line in the functions' logs. Its fields are stable: saved queries and `docs/reference/telemetry.md` name them. */
export interface LogLine<F extends string = string> {
  /** Its field `message`. */
  readonly message: string;
  /** Its field `level`. */
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  /** The functions that write it. */
  readonly by: readonly string[];
  /** When they write it. */
  readonly when: string;
  /** Its fields beside those of every line, and what each means. */
  readonly fields: Readonly<Record<F, string>>;
}

/** The fields of every line, and what each means. */
export const EVERY_LINE = {
  timestamp: 'when it was written',
  level: '`DEBUG`, `INFO`, `WARN` or `ERROR`',
  message: 'which kind of line it is',
  'span.requestId': "the invocation, as in Lambda's own lines of the log",
  'span.xrayTraceId': "the invocation's trace",
} as const;

/** The fields of the lines of a kind. */
type FieldOf<L> = L extends LogLine<infer F> ? F : never;

/** A kind of line, where the compiler knows its fields. */
export function logLine<F extends string>(line: LogLine<F>): LogLine<F> {
  return line;
}

/** The names of the fields of `lines`, for queries: a name that no line has does not compile. */
export function fieldsOf<L extends readonly LogLine[]>(
  ...lines: L
): { readonly [K in FieldOf<L[number]> | keyof typeof EVERY_LINE]: K } {
  const names = [EVERY_LINE, ...lines.map(({ fields }) => fields)].flatMap((fields) => Object.keys(fields));
  return Object.fromEntries(names.map((name) => [name, name])) as ReturnType<typeof fieldsOf<L>>;
}

/** The condition of a query that keeps the lines of these kinds. */
export function isOneOf(...lines: readonly LogLine[]): string {
  const { message } = fieldsOf();
  return `${message} in [${lines.map((line) => `"${line.message}"`).join(', ')}]`;
}
