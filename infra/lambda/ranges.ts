import type { Duration } from 'aws-cdk-lib';
import type { Problem } from './problem';

/** A problem unless `value` is an integer from `min` to `max`. */
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

/** A problem unless `value` is whole seconds from `min` to `max`. */
export function wholeSeconds(
  setting: string,
  value: Duration,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
  why?: string,
): Problem | undefined {
  const problem = integer(setting, ms(value) / 1_000, min, max, why);
  if (problem === undefined) return undefined;
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min} s` : `${min} s to ${max} s`;
  const reason = why === undefined ? '' : ` (${why})`;
  return {
    setting,
    rule: `${text(value)} is not a whole number of seconds in the range ${range}${reason}`,
    remedy: `choose whole seconds, ${range}`,
  };
}

/** A problem unless `value` is at least `minMs` milliseconds. */
export function duration(setting: string, value: Duration, minMs: number): Problem | undefined {
  if (ms(value) >= minMs) return undefined;
  return { setting, rule: `${text(value)} leaves no time at all`, remedy: `choose at least ${minMs} ms` };
}

/** Milliseconds. */
export function ms(value: Duration): number {
  return value.toMilliseconds();
}

/** Milliseconds as a text in seconds. */
export function seconds(millis: number): string {
  return `${millis / 1_000} s`;
}

/** A duration as a text in seconds. */
export function text(value: Duration): string {
  return seconds(ms(value));
}
