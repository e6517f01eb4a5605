import type { Duration } from 'aws-cdk-lib';
import { type Problem, problemIf } from './problem';

/** Maximum duration for a setting without another limit, in milliseconds: 100 years. */
export const LONGEST_MS = 100 * 365 * 86_400_000;

/**
 * Maximum timeout of a function that freshq accepts, in seconds. In November 2026, the API documentation of newer SDKs
 * says 1,800 s, while CDK 2.276 and cfn-lint 1.58 still say 900 s.
 */
export const LONGEST_TIMEOUT_S = 900;

/** Returns a problem unless `value` is an integer from `min` to `max`. `why` explains the range. */
export function integer(setting: string, value: number, min: number, max: number, why?: string): Problem[] {
  const reason = why === undefined ? '' : ` (${why})`;
  return problemIf(
    !(Number.isInteger(value) && value >= min && value <= max),
    setting,
    `${value} is not a whole number from ${min} to ${max}${reason}`,
    `choose a whole number from ${min} to ${max}`,
  );
}

/** Returns a problem unless `value` is a whole number of seconds from `min` to `max`. `why` explains the range. */
export function wholeSeconds(
  setting: string,
  value: Duration,
  min: number,
  max = LONGEST_MS / 1_000,
  why?: string,
): Problem[] {
  const problems = integer(setting, ms(value) / 1_000, min, max, why);
  const range = `${min} s to ${max * 1_000 === LONGEST_MS ? '100 years' : `${max} s`}`;
  const reason = why === undefined ? '' : ` (${why})`;
  return problemIf(
    problems.length > 0,
    setting,
    `${text(value)} is not a whole number of seconds in the range ${range}${reason}`,
    `choose whole seconds, ${range}`,
  );
}

/** Returns a problem unless `value` is a whole number of milliseconds from `minMs` to 100 years. */
export function duration(setting: string, value: Duration, minMs: number): Problem[] {
  const range = `${minMs} ms to 100 years`;
  return problemIf(
    !(Number.isInteger(ms(value)) && ms(value) >= minMs && ms(value) <= LONGEST_MS),
    setting,
    `${text(value)} is not whole milliseconds from ${range}`,
    `choose ${range}`,
  );
}

export function ms(value: Duration): number {
  return value.toMilliseconds();
}

/** Formats milliseconds in seconds, for example `1.5 s`. */
export function seconds(millis: number): string {
  return `${millis / 1_000} s`;
}

/** Formats a duration in seconds. */
export function text(value: Duration): string {
  return seconds(ms(value));
}
