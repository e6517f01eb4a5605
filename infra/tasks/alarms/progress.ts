import { Duration } from 'aws-cdk-lib';
import { TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { emitted } from '../../shared/alarms/custom-metric';
import { freshq, QueueAlarm } from '../../shared/alarms/queue-alarm';
import type { AlarmSettings } from '../settings/alarms';

/**
 * Number of minutes without a completed sweep before the alarm fires. CloudWatch counts a missing data point only if
 * the evaluation range, a few periods longer, contains too few others. One five-minute period would take about fifteen
 * minutes (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html).
 */
const SWEEPS_MISSED = 5;

/** Alarm period. A turn ends about every minute. If two turns leave the breaker open, the outage exceeds a minute. */
const BREAKER_PERIOD = Duration.minutes(5);

/**
 * Creates the alarms on a queue's progress.
 *
 * @param table task table, whose name identifies the queue in the metrics
 */
export function progressAlarms(scope: Construct, table: Table, { oldestPending }: Required<AlarmSettings>) {
  return {
    paused: new QueueAlarm(scope, 'paused', {
      metric: emitted(table, 'QueuePaused'),
      fires: { above: 0 },
      says: `The queue is paused and starts no tasks. An operator paused it. First run ${freshq(scope, 'status')} for the reason, the author and the end of the pause. The queue resumes automatically after the pause; ${freshq(scope, 'resume')} ends it earlier.`,
      section: 'paused',
    }),
    breakerOpen: new QueueAlarm(scope, 'breaker-open', {
      metric: emitted(table, 'BreakerOpen', { period: BREAKER_PERIOD }),
      fires: { above: 1 },
      says: `The circuit breaker is open: the downstream is unavailable (5xx, no connection, no response in time), busy, or rejects the queue's requests (401, 403, 404 or a redirect), so only probes start. No task loses an attempt. First run ${freshq(scope, 'status')}, then check the downstream, its credentials and the network to it. The queue resumes within seconds after the downstream responds again.`,
      section: 'breakerOpen',
    }),
    stalled: new QueueAlarm(scope, 'stalled', {
      metric: emitted(table, 'IdleBoundReached'),
      fires: { above: 0 },
      says: `Many consecutive turns settled no task, so the queue stopped publishing tail calls. First run ${freshq(scope, 'errors')}, which groups the errors of the returned tasks. The sweep wakes the queue every minute.`,
      section: 'stalled',
    }),
    oldestPending: new QueueAlarm(scope, 'oldest-pending', {
      metric: emitted(table, 'OldestPendingSeconds'),
      fires: { above: oldestPending.toSeconds() },
      says: `The oldest pending task is older than ${oldestPending.toSeconds()} s and may expire before it starts. First run ${freshq(scope, 'status')}: is the queue paused, is a processor active, how many tasks are pending? Then run ${freshq(scope, 'doctor')}, which finds settings that stop the queue.`,
      section: 'oldestPending',
    }),
    sweepMissed: new QueueAlarm(scope, 'sweep-missed', {
      metric: emitted(table, 'Sweeps'),
      fires: { below: 1 },
      periods: SWEEPS_MISSED,
      // Without a sweep, there is no data.
      missing: TreatMissingData.BREACHING,
      says: `No sweep completed for at least five minutes: tasks of crashed processors stay TAKEN, and lost wake-ups are not replaced. First run ${freshq(scope, 'doctor')}, which names a disabled schedule and messages in the failure queues; then read the log of sweep-tasks.`,
      section: 'sweepMissed',
    }),
  };
}
