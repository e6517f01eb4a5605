import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { FailureQueue } from '../failure-queue';
import type { RustFunction } from '../rust-function';
import { freshq, QueueAlarm, type RUNBOOK } from './queue-alarm';

const EVERY_MINUTE = Duration.minutes(1);

/**
 * Creates alarms on functions that lag behind the table's stream, based on Lambda's `IteratorAge` metric (milliseconds).
 */
export function streamDelayAlarms(
  scope: Construct,
  readers: Readonly<Record<string, RustFunction>>,
  { streamDelay }: { readonly streamDelay: Duration },
): QueueAlarm[] {
  return Object.entries(readers).map(
    ([name, reader]) =>
      new QueueAlarm(scope, `${name}-stream-delay`, {
        metric: reader.function.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: EVERY_MINUTE }),
        fires: { above: streamDelay.toMilliseconds() },
        says: `${name} lags more than ${streamDelay.toSeconds({ integral: false })} s behind the table's stream. First run ${freshq(scope, 'doctor')}, which names a disabled event source mapping; then check the errors and throttles of ${name}. The stream deletes records after 24 hours.`,
        section: 'streamDelay',
      }),
  );
}

/**
 * Creates alarms on invocations that Lambda dropped because its recursive loop detection classified tail calls as a
 * loop. The stack disables this detection, so a dropped invocation means that it was enabled again.
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
        fires: { above: 0 },
        says: `Lambda dropped an invocation of ${name} as a recursive loop, so the queue continues only with the next sweep. First run ${freshq(scope, 'doctor')}: it names the changed setting, and the command that restores it.`,
        section: 'recursion',
      }),
  );
}

/**
 * Creates alarms on messages in failure queues.
 *
 * @param aftermath end of the alarm's description: which data is not lost, and what recovers automatically
 * @param section runbook section
 */
export function failureAlarms(
  scope: Construct,
  queues: Readonly<Record<string, FailureQueue>>,
  aftermath: string,
  section: keyof typeof RUNBOOK,
): QueueAlarm[] {
  return Object.entries(queues).map(
    ([name, queue]) =>
      new QueueAlarm(scope, name, {
        metric: queue.metricApproximateNumberOfMessagesVisible({
          statistic: Stats.MAXIMUM,
          period: EVERY_MINUTE,
        }),
        fires: { above: 0 },
        says: `The failure queue ${name} has messages: events that could not be delivered or processed. First run ${freshq(scope, 'messages')}, which shows the messages with their reasons; fix the cause, and do what the runbook says for this queue before you delete the messages. ${aftermath}`,
        section,
      }),
  );
}
