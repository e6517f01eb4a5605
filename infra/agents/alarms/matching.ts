import { Duration } from 'aws-cdk-lib';
import { Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { emitted } from '../../shared/alarms/custom-metric';
import { freshq, QueueAlarm } from '../../shared/alarms/queue-alarm';
import type { CallIntake } from '../call-intake';
import type { AgentQueueSettings } from '../settings';

/** Number of consecutive sweep intervals that a sweep alarm evaluates. */
const SWEEPS = 5;

export function callAlarms(
  scope: Construct,
  table: Table,
  intake: CallIntake,
  { calls, alarms }: AgentQueueSettings,
) {
  const period = Duration.minutes(1);
  return {
    deadLetters: new QueueAlarm(scope, 'call-dead-letters', {
      metric: intake.deadLetters.metricApproximateNumberOfMessagesVisible({
        statistic: Stats.MAXIMUM,
        period,
      }),
      fires: { above: alarms.deadCalls },
      says: `Calls are in the dead-letter queue: no matching agent was queued in time, or the message was rejected. First run ${freshq(scope, 'messages')}: the message attribute reason contains the cause. SQS moved messages without a reason after their last attempt.`,
      section: 'deadCalls',
    }),
    oldestPending: new QueueAlarm(scope, 'oldest-pending', {
      metric: emitted(table, 'OldestPendingCallSeconds'),
      fires: { above: alarms.oldestPending.toSeconds() },
      says: `The oldest call has been pending for more than ${alarms.oldestPending.toSeconds()} s; it expires after ${calls.maxWait.toSeconds()} s. First run ${freshq(scope, 'queues')}: which criteria have pending calls, and is a matching agent queued?`,
      section: 'pendingCalls',
    }),
    intakeDelay: new QueueAlarm(scope, 'intake-delay', {
      metric: intake.queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM, period }),
      fires: { above: alarms.intakeDelay.toSeconds() },
      says: `A call has been in the call queue for more than ${alarms.intakeDelay.toSeconds()} s, and delays the later calls of its group. First run ${freshq(scope, 'doctor --agents')}, which names a disabled event source mapping; then check the errors and throttles of match-calls.`,
      section: 'intakeDelay',
    }),
  };
}

/** Creates alarms on sweep metrics and on missing sweeps. */
export function agentSweepAlarms(
  scope: Construct,
  table: Table,
  { agents: { sweepInterval } }: AgentQueueSettings,
) {
  const period = Duration.millis(SWEEPS * sweepInterval.toMilliseconds());
  return {
    sweepMissed: new QueueAlarm(scope, 'sweep-missed', {
      // Five short periods instead of one long one, because CloudWatch waits a few more periods for missing data.
      metric: emitted(table, 'AgentSweeps', { period: sweepInterval }),
      fires: { below: 1 },
      periods: SWEEPS,
      // A sweep that doesn't run doesn't publish the metric.
      missing: TreatMissingData.BREACHING,
      says: `No agent sweep completed for at least ${period.toMinutes()} minutes: expired call leases, expired calls and unpublished assignments remain unprocessed. First run ${freshq(scope, 'doctor --agents')}, which names a disabled schedule and messages in the failure queues; then read the log of sweep-agents.`,
      section: 'agentSweepMissed',
    }),
    unpublished: new QueueAlarm(scope, 'unpublished', {
      // Uses the minimum of five sweeps, because each sweep retries assignments that the previous sweep didn't publish.
      metric: emitted(table, 'UnpublishedAssignments', { statistic: Stats.MINIMUM, period }),
      fires: { above: 0 },
      says: `For ${period.toMinutes()} minutes no sweep could publish every assignment and send every expired call to the dead-letter queue, so subscribers are not notified. First run ${freshq(scope, 'doctor --agents')}, which names changed settings; then check the log of sweep-agents for the response of SNS or SQS.`,
      section: 'unpublished',
    }),
  };
}
