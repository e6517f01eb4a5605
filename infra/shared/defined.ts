type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the properties of `given` whose value is not `undefined`. */
export function definedOf<T extends object>(given: T | undefined): Defined<T> {
  const entries = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}
