import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { TaskIngest } from '../constructs/task-ingest';
import type { AlarmSettings } from '../settings';
import { QueueAlarm } from './queue-alarm';

/** Alarms on messages that do not become tasks, by SQS's own metrics. */
export function ingestAlarms(
  scope: Construct,
  { queue, deadLetters }: TaskIngest,
  { ingestDelay, ingestDeadLetters }: Required<AlarmSettings>,
): QueueAlarm[] {
  const period = Duration.minutes(1);
  return [
    new QueueAlarm(scope, 'ingest-dead-letters', {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period }),
      rings: { above: ingestDeadLetters },
      says: 'Messages of the ingest queue were given up: they are no tasks, or they could not be written. First read one in the dead-letter queue: its attribute reason says what is wrong with it, and without one SQS gave it up.',
      section: 'ingestDeadLetters',
    }),
    new QueueAlarm(scope, 'ingest-delay', {
      metric: queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM, period }),
      rings: { above: ingestDelay.toSeconds() },
      says: `A message has been in the ingest queue for more than ${ingestDelay.toSeconds()} s and is no task yet. First look at the errors and throttles of ingest-tasks, at IngestReturned, and whether its event source mapping is enabled.`,
      section: 'ingestDelay',
    }),
  ];
}
