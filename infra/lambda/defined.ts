type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** What is given of `given`: an explicit `undefined` counts as not given. */
export function definedOf<T extends object>(given: T | undefined): Defined<T> {
  const entries = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}
