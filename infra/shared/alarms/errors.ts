import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { RustFunction } from '../rust-function';
import { freshq, QueueAlarm, type RUNBOOK } from './queue-alarm';

/** Alarm window. It slides by one minute, so the alarm fires a minute or two after Lambda publishes the errors. */
const PERIOD = Duration.minutes(5);

/** Configuration of an alarm on failed invocations. */
export interface ErrorAlarm {
  /** Functions whose errors are summed, by name. */
  readonly of: Readonly<Record<string, RustFunction>>;
  /** Number of errors in five minutes above which the alarm fires. */
  readonly above: number;
}

/**
 * Creates alarms on failed invocations, based on Lambda's `Errors` metric. Lambda publishes it within a minute or two. An
 * alarm on a failure queue would be slower, because SQS can take 15 minutes to publish the depth of an inactive queue.
 *
 * @param alarms alarms, by id without the suffix `-errors`
 * @param section runbook section
 * @param doctor the `freshq` verb that checks the queue
 */
export function errorAlarms(
  scope: Construct,
  alarms: Readonly<Record<string, ErrorAlarm>>,
  section: keyof typeof RUNBOOK,
  doctor: string,
): QueueAlarm[] {
  return Object.entries(alarms).map(
    ([id, { of, above }]) =>
      new QueueAlarm(scope, `${id}-errors`, {
        metric: errorsOf(Object.values(of)),
        fires: { above },
        says: `Invocations of ${Object.keys(of).join(' and ')} failed${moreThan(above)} in five minutes. First run ${freshq(scope, doctor)}, which names changed settings and crashes; then read the errors in the log.`,
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
    // A function without invocations has no data points. FILL counts them as 0 errors.
    expression: errors.map((_, index) => `FILL(m${index},0)`).join('+'),
    usingMetrics: Object.fromEntries(errors.map((metric, index) => [`m${index}`, metric])),
    label: 'Errors',
    period: PERIOD,
  });
}

function moreThan(count: number): string {
  if (count === 0) return '';
  return count === 1 ? ' more than once' : ` more than ${count} times`;
}
