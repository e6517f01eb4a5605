import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { FailureQueue } from '../failure-queue';
import type { RustFunction } from '../rust-function';
import { freshq, QueueAlarm } from './queue-alarm';

const EVERY_MINUTE = Duration.minutes(1);

/** Alarms on how far functions lag behind the table's stream, by Lambda's `IteratorAge` (milliseconds). */
export function streamDelayAlarms(
  scope: Construct,
  readers: Readonly<Record<string, RustFunction>>,
  { streamDelay }: { readonly streamDelay: Duration },
): QueueAlarm[] {
  return Object.entries(readers).map(
    ([name, reader]) =>
      new QueueAlarm(scope, `${name}-stream-delay`, {
        metric: reader.function.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: EVERY_MINUTE }),
        rings: { above: streamDelay.toMilliseconds() },
        says: `${name} lags more than ${streamDelay.toSeconds({ integral: false })} s behind the table's stream. First look at the errors and throttles of ${name}; the stream forgets after 24 hours.`,
        section: 'streamDelay',
      }),
  );
}

/**
 * Alarms on invocations that Lambda dropped because it takes the tail call for a runaway loop. Lambda counts them
 * only with its detection on, and the stack switches it off: a count means that it was switched on again.
 */
export function recursionAlarms(
  scope: Construct,
  loop: Readonly<Record<string, RustFunction>>,
): QueueAlarm[] {
  return Object.entries(loop).map(
    ([name, member]) =>
      new QueueAlarm(scope, `${name}-recursion`, {
        metric: member.function.metric('RecursiveInvocationsDropped', {
          statistic: Stats.SUM,
          period: EVERY_MINUTE,
        }),
        rings: { above: 0 },
        says: `Lambda dropped an invocation of ${name} as a runaway loop, so the queue goes on only with the sweep. First set the function's recursive loop detection back to Allow (aws lambda put-function-recursion-config), as the stack has it.`,
        section: 'recursion',
      }),
  );
}

/**
 * Alarms on queues for what could not be delivered or processed.
 *
 * @param aftermath the data that is not lost, and the automatic repair
 */
export function failureAlarms(
  scope: Construct,
  queues: Readonly<Record<string, FailureQueue>>,
  aftermath: string,
): QueueAlarm[] {
  return Object.entries(queues).map(
    ([name, queue]) =>
      new QueueAlarm(scope, name, {
        metric: queue.metricApproximateNumberOfMessagesVisible({
          statistic: Stats.MAXIMUM,
          period: EVERY_MINUTE,
        }),
        rings: { above: 0 },
        says: `Something could not be delivered or processed (${name}). First run ${freshq(scope, 'messages')}, which shows the message with its reason; fix the cause, then delete the message. ${aftermath}`,
        section: 'failures',
      }),
  );
}
