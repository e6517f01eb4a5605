import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { emitted } from '../../shared/alarms/custom-metric';
import { freshq, QueueAlarm } from '../../shared/alarms/queue-alarm';
import type { TaskIngest } from '../ingest/task-ingest';
import type { AlarmSettings } from '../settings/alarms';

/** Maximum total evaluation time of an alarm, in minutes: one day, a CloudWatch limit. */
const MINUTES_A_DAY = 24 * 60;

/** Number of minutes by which SQS metrics can be late. */
const LATE = 2;

/** Creates the alarm on tasks shed by admission. */
export function admissionAlarm(scope: Construct, table: Table): QueueAlarm {
  return new QueueAlarm(scope, 'not-admitted', {
    metric: emitted(table, 'TasksNotAdmitted'),
    fires: { above: 0 },
    says: `More tasks arrive than can run before they expire, so ingest-tasks sheds a part of them before the first write. First compare created and ended tasks in ${freshq(scope, 'status')}.`,
    section: 'notAdmitted',
  });
}

/** Creates alarms on rejected and late messages in the ingest queue, based on SQS metrics. */
export function ingestAlarms(
  scope: Construct,
  { queue, deadLetters }: TaskIngest,
  { ingestDelay, ingestDeadLetters }: Required<AlarmSettings>,
): QueueAlarm[] {
  const period = Duration.minutes(1);
  return [
    new QueueAlarm(scope, 'ingest-dead-letters', {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period }),
      fires: { above: ingestDeadLetters },
      says: `Messages are in the ingest dead-letter queue: they are invalid, or could not be written. First run ${freshq(scope, 'messages')}: the message attribute reason contains the cause. A message without a reason was moved by SQS after its last attempt.`,
      section: 'ingestDeadLetters',
    }),
    new QueueAlarm(scope, 'ingest-delay', {
      metric: queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM, period }),
      fires: { above: ingestDelay.toSeconds() },
      says: `A message has been in the ingest queue for more than ${ingestDelay.toSeconds()} s. First run ${freshq(scope, 'doctor')}, which names a disabled event source mapping. Then check the errors and throttles of ingest-tasks, and the metric IngestReturned.`,
      section: 'ingestDelay',
    }),
    stuckAlarm(scope, queue, ingestDelay),
  ];
}

/**
 * Creates the alarm on an ingest queue that has messages while none is deleted. `ApproximateAgeOfOldestMessage` doesn't
 * include messages that were received three or more times
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html).
 * Therefore, the age alarm doesn't fire while DynamoDB throttles every write or Lambda throttles every invocation.
 */
function stuckAlarm(scope: Construct, queue: Queue, ingestDelay: Duration): QueueAlarm {
  const period = Duration.minutes(1);
  const metric = new MathExpression({
    // After a storm, postponed messages are hidden for up to `visibilityMax`, and none is due. So hidden messages do
    // not count. A message that can't be written is received again.
    expression: 'IF((FILL(visible,0) > 0 OR FILL(received,0) > 0) AND FILL(deleted,0) < 1, 1, 0)',
    usingMetrics: {
      visible: queue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period }),
      received: queue.metricNumberOfMessagesReceived({ statistic: Stats.SUM, period }),
      deleted: queue.metricNumberOfMessagesDeleted({ statistic: Stats.SUM, period }),
    },
    label: 'visible or received messages, and none deleted',
    period,
  });
  const minutes = Math.ceil(ingestDelay.toSeconds() / 60);
  return new QueueAlarm(scope, 'ingest-stuck', {
    metric,
    fires: { above: 0 },
    periods: Math.min(minutes, MINUTES_A_DAY - LATE),
    late: LATE,
    says: `The ingest queue has had messages for ${minutes} minutes, and none of them was written. First run ${freshq(scope, 'doctor')}, which names changed settings. Then check the metric IngestReturned. If it rises, DynamoDB throttles the writes; the dashboard shows by which limit. Otherwise check the errors and throttles of ingest-tasks.`,
    section: 'ingestDelay',
  });
}
