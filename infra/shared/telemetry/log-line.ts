/** A kind of log line. Its fields are stable, because saved queries and `docs/reference/telemetry.md` refer to them. */
export interface LogLine<F extends string = string> {
  readonly message: string;
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  /** Functions that write the line. */
  readonly by: readonly string[];
  /** Event on which the functions write the line. */
  readonly when: string;
  /** Meanings of the line's fields, except for the fields of {@link EVERY_LINE}. */
  readonly fields: Readonly<Record<F, string>>;
}

/** Fields of every line, with their meanings. */
export const EVERY_LINE = {
  timestamp: 'time at which the line was written',
  level: '`DEBUG`, `INFO`, `WARN` or `ERROR`',
  message: 'kind of the line',
  'span.requestId': "request id of the invocation, as in Lambda's own log lines",
  'span.xrayTraceId': "id of the invocation's trace",
} as const;

type FieldOf<L> = L extends LogLine<infer F> ? F : never;

/** Declares a kind of line, so that the compiler knows its fields. */
export function logLine<F extends string>(line: LogLine<F>): LogLine<F> {
  return line;
}

/** Returns the field names of `lines`, for queries. A name that isn't in any line doesn't compile. */
export function fieldsOf<L extends readonly LogLine[]>(
  ...lines: L
): { readonly [K in FieldOf<L[number]> | keyof typeof EVERY_LINE]: K } {
  const names = [EVERY_LINE, ...lines.map(({ fields }) => fields)].flatMap((fields) => Object.keys(fields));
  return Object.fromEntries(names.map((name) => [name, name])) as ReturnType<typeof fieldsOf<L>>;
}

/** Returns the query condition that selects lines of these kinds. */
export function isOneOf(...lines: readonly LogLine[]): string {
  const { message } = fieldsOf();
  return `${message} in [${lines.map((line) => `"${line.message}"`).join(', ')}]`;
}

/** Returns the query command that shows these fields. */
export function fields(...names: readonly string[]): string {
  return `fields ${names.join(', ')}`;
}
