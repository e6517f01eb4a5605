import { Duration } from 'aws-cdk-lib';
import { definedOf } from './defined';
import { type Problem, problemIf, type Warning } from './problem';
import * as ranges from './ranges';

/** Default and range of a setting. The interface of its group declares its type and meaning. */
export interface Declared<T = unknown, D extends T | undefined = T | undefined> {
  /** The default; `undefined` if the setting is optional, or if the default depends on other settings. */
  readonly fallback: D;
  /** Minimum and maximum value, if the range is limited. */
  readonly bounds?: readonly [T, T];
  /** Why the setting of the previous release has no effect any longer, if it has none. */
  readonly former?: string;
  /** Returns the problem with a value; none if the value is valid. */
  problems?(setting: string, value: T): Problem[];
}

/** A declaration for each setting of the group `G`. */
export type Declarations<G> = { readonly [K in keyof G]-?: Declared<NonNullable<G[K]>> };

/** Declares a whole number from `least` to `greatest`. `why` explains the range. */
export function integer<D extends number | undefined>(
  fallback: D,
  least: number,
  greatest: number,
  why?: string,
): Declared<number, D> {
  const problems = (setting: string, value: number) => ranges.integer(setting, value, least, greatest, why);
  return { fallback, bounds: [least, greatest], problems };
}

/** Declares a duration in whole milliseconds, from `leastMs` to 100 years. */
export function duration<D extends Duration | undefined>(
  fallback: D,
  leastMs: number,
): Declared<Duration, D> {
  const problems = (setting: string, value: Duration) => ranges.duration(setting, value, leastMs);
  return { fallback, bounds: [Duration.millis(leastMs), Duration.millis(ranges.LONGEST_MS)], problems };
}

/** Declares a duration in whole seconds, up to 100 years unless `greatest` is given. `why` explains the range. */
export function wholeSeconds<D extends Duration | undefined>(
  fallback: D,
  least: number,
  greatest = ranges.LONGEST_MS / 1_000,
  why?: string,
): Declared<Duration, D> {
  const problems = (setting: string, value: Duration) =>
    ranges.wholeSeconds(setting, value, least, greatest, why);
  return { fallback, bounds: [Duration.seconds(least), Duration.seconds(greatest)], problems };
}

/** Declares a share from 0 to 1. */
export function share(fallback: number): Declared<number, number> {
  const problems = (setting: string, value: number) =>
    problemIf(
      !(value >= 0 && value <= 1),
      setting,
      `${value} is not a share from 0 to 1`,
      'choose a number from 0 to 1',
    );
  return { fallback, bounds: [0, 1], problems };
}

/** Declares a setting without a range. Its type or a separate rule limits it. */
export function free<D>(fallback: D): { readonly fallback: D } {
  return { fallback };
}

/** Declares a setting of the previous release: the value is `fallback`, whatever an app gives. `reason` ends the warning. */
export function former<D>(fallback: D, reason: string): { readonly fallback: D; readonly former: string } {
  return { fallback, former: reason };
}

type Group = Readonly<Record<string, Declared>>;

/** The settings in a group that have a default. */
type Defaults<G extends Group> = {
  readonly [K in keyof G as undefined extends G[K]['fallback'] ? never : K]: G[K]['fallback'];
};

/** The settings `T` of a group; those with a default are required. */
export type Resolved<T, G extends Group> = T & Required<Pick<T, keyof T & keyof Defaults<G>>>;

/** `T`, with every property required except `K`. */
export type RequiredExcept<T, K extends keyof T> = Required<Omit<T, K>> & Pick<T, K>;

/** Returns the given settings and the other settings' defaults. Former settings and `undefined` are treated as omitted. */
export function withDefaults<T extends object, G extends Group>(group: G, given?: T): Resolved<T, G> {
  const defaults = Object.entries(group).map(([name, { fallback }]) => [name, fallback]);
  const effective = Object.entries(definedOf(given)).filter(([name]) => group[name]?.former === undefined);
  return definedOf(Object.fromEntries([...defaults, ...effective])) as Resolved<T, G>;
}

/** Returns a warning per former setting that is given in the group at `path`. */
export function formerWarnings(path: string, group: Group, given: object = {}): Warning[] {
  return Object.keys(definedOf(given)).flatMap((name) => {
    const reason = group[name]?.former;
    if (reason === undefined) return [];
    const text = `${path}.${name} has no effect: ${reason}. Remove it; the next release rejects it.`;
    return [{ id: `freshq:without-effect-${path}.${name}`, text }];
  });
}

/** Returns the settings in a group that have a range, each at its minimum (0) or maximum value (1). */
export function atBound(group: Group, end: 0 | 1): Record<string, unknown> {
  const bounded = Object.entries(group).filter(([, { bounds }]) => bounds !== undefined);
  return Object.fromEntries(bounded.map(([name, { bounds }]) => [name, bounds?.[end]]));
}

/** Returns a problem for each setting that is outside its range in the group at `path`. */
export function rangeProblems(path: string, group: Group, settings: object): Problem[] {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return given.flatMap(([name, value]) => group[name]?.problems?.(`${path}.${name}`, value) ?? []);
}
