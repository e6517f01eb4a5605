import type { Duration } from 'aws-cdk-lib';
import type { Problem } from './problem';

/** Longest duration of a setting without another limit, in milliseconds: 100 years. */
export const LONGEST_MS = 100 * 365 * 86_400_000;

/** Returns a problem unless `value` is an integer from `min` to `max`. `why` explains the range. */
export function integer(
  setting: string,
  value: number,
  min: number,
  max: number,
  why?: string,
): Problem | undefined {
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  const reason = why === undefined ? '' : ` (${why})`;
  return {
    setting,
    rule: `${value} is not a whole number from ${min} to ${max}${reason}`,
    remedy: `choose a whole number from ${min} to ${max}`,
  };
}

/** Returns a problem unless `value` is whole seconds from `min` to `max`. `why` explains the range. */
export function wholeSeconds(
  setting: string,
  value: Duration,
  min: number,
  max = LONGEST_MS / 1_000,
  why?: string,
): Problem | undefined {
  const problem = integer(setting, ms(value) / 1_000, min, max, why);
  if (problem === undefined) return undefined;
  const range = `${min} s to ${max * 1_000 === LONGEST_MS ? '100 years' : `${max} s`}`;
  const reason = why === undefined ? '' : ` (${why})`;
  return {
    setting,
    rule: `${text(value)} is not a whole number of seconds in the range ${range}${reason}`,
    remedy: `choose whole seconds, ${range}`,
  };
}

/** Returns a problem unless `value` is whole milliseconds from `minMs` to 100 years. */
export function duration(setting: string, value: Duration, minMs: number): Problem | undefined {
  if (Number.isInteger(ms(value)) && ms(value) >= minMs && ms(value) <= LONGEST_MS) return undefined;
  const range = `${minMs} ms to 100 years`;
  return {
    setting,
    rule: `${text(value)} is not whole milliseconds from ${range}`,
    remedy: `choose ${range}`,
  };
}

/** A duration in milliseconds. */
export function ms(value: Duration): number {
  return value.toMilliseconds();
}

/** Text of milliseconds in seconds, for example `1.5 s`. */
export function seconds(millis: number): string {
  return `${millis / 1_000} s`;
}

/** Text of a duration in seconds. */
export function text(value: Duration): string {
  return seconds(ms(value));
}
