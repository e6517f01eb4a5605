import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { RustFunction } from '../rust-function';
import { QueueAlarm, type RUNBOOK } from './queue-alarm';

/** The alarm's window slides, a minute at a time: it rings a minute or two after the errors are published. */
const PERIOD = Duration.minutes(5);

/** One alarm on failed invocations. */
export interface ErrorAlarm {
  /** The functions whose errors count together, by name. */
  readonly of: Readonly<Record<string, RustFunction>>;
  /** The errors in five minutes beyond which it rings. */
  readonly above: number;
}

/**
 * Alarms on invocations that failed, by Lambda's `Errors`. Lambda publishes these within a minute or two. SQS takes up
 * to 15 minutes until it publishes the depth of a failure queue that has been inactive.
 *
 * @param alarms by the beginning of their ids
 * @param section of the runbook
 */
export function errorAlarms(
  scope: Construct,
  alarms: Readonly<Record<string, ErrorAlarm>>,
  section: keyof typeof RUNBOOK,
): QueueAlarm[] {
  return Object.entries(alarms).map(
    ([id, { of, above }]) =>
      new QueueAlarm(scope, `${id}-errors`, {
        metric: errorsOf(Object.values(of)),
        rings: { above },
        says: `Invocations of ${Object.keys(of).join(' and ')} failed more than ${times(above)} in five minutes. First read the errors in the log.`,
        section,
      }),
  );
}

function errorsOf(functions: readonly RustFunction[]): IMetric {
  const errors = functions.map(({ function: fn }) =>
    fn.metricErrors({ statistic: Stats.SUM, period: PERIOD }),
  );
  const [first, ...others] = errors;
  if (first === undefined) throw new Error('an alarm on errors needs a function');
  if (others.length === 0) return first;
  return new MathExpression({
    // A function that was not invoked has no errors, not an unknown number.
    expression: errors.map((_, index) => `FILL(m${index},0)`).join('+'),
    usingMetrics: Object.fromEntries(errors.map((metric, index) => [`m${index}`, metric])),
    label: 'Errors',
    period: PERIOD,
  });
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
