import { Duration } from 'aws-cdk-lib';
import { TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { emitted } from '../../lambda/alarms/custom-metric';
import { freshq, QueueAlarm } from '../../lambda/alarms/queue-alarm';
import type { AlarmSettings } from '../settings/alarms';

/** How long no sweep may have run: five rounds. */
const SWEEP_MISSED = Duration.minutes(5);

/** Turns end every minute: two that leave the breaker open within this time are an outage of more than a minute. */
const BREAKER_PERIOD = Duration.minutes(5);

/** Alarms on what the queue's own functions say of its progress. */
export interface ProgressAlarms {
  /** Nothing starts, until the pause ends. */
  readonly paused: QueueAlarm;
  /** Nothing but probes starts, until the downstream answers. */
  readonly breakerOpen: QueueAlarm;
  /** Turn after turn settled nothing, and the queue waits for the sweep. */
  readonly stalled: QueueAlarm;
  /** The oldest pending task is about to expire undone. */
  readonly oldestPending: QueueAlarm;
  /** Nothing looks for what was lost. */
  readonly sweepMissed: QueueAlarm;
}

/**
 * Makes the alarms on a queue's progress.
 *
 * @param table its name tells one queue's metrics from another's
 */
export function progressAlarms(
  scope: Construct,
  table: Table,
  { oldestPending }: Required<AlarmSettings>,
): ProgressAlarms {
  return {
    paused: new QueueAlarm(scope, 'paused', {
      metric: emitted(table, 'QueuePaused'),
      rings: { above: 0 },
      says: `The queue is paused and starts nothing: the downstream rejected several distinct tasks (401, 403 or 404), or distinct tasks found it busy for long, or an operator paused it. First run ${freshq(scope, 'status')} for the reason, then check the downstream: its credentials, its address, its load. The queue goes on by itself after its pause.`,
      section: 'paused',
    }),
    breakerOpen: new QueueAlarm(scope, 'breaker-open', {
      metric: emitted(table, 'BreakerOpen', { period: BREAKER_PERIOD }),
      rings: { above: 1 },
      says: `The circuit breaker is open: the downstream is unavailable (5xx, no connection, no answer in time), so only probes start. No task loses an attempt. First run ${freshq(scope, 'status')}, then check the downstream and the network between. The queue goes on within seconds after the downstream answers.`,
      section: 'breakerOpen',
    }),
    stalled: new QueueAlarm(scope, 'stalled', {
      metric: emitted(table, 'IdleBoundReached'),
      rings: { above: 0 },
      says: 'Many turns in a row settled nothing, so the queue no longer calls itself. First look at the downstream and at the errors of process-tasks. The sweep wakes the queue every minute.',
      section: 'stalled',
    }),
    oldestPending: new QueueAlarm(scope, 'oldest-pending', {
      metric: emitted(table, 'OldestPendingSeconds'),
      rings: { above: oldestPending.toSeconds() },
      says: `The oldest pending task has waited for more than ${oldestPending.toSeconds()} s and is about to expire undone. First run ${freshq(scope, 'status')}: is the queue paused, is a processor active, how many tasks are pending? Then run ${freshq(scope, 'doctor')}, which finds settings that stop the queue.`,
      section: 'oldestPending',
    }),
    sweepMissed: new QueueAlarm(scope, 'sweep-missed', {
      metric: emitted(table, 'Sweeps', { period: SWEEP_MISSED }),
      rings: { below: 1 },
      // A sweep that does not run says nothing.
      missing: TreatMissingData.BREACHING,
      says: 'No sweep for five minutes: tasks of dead processors stay TAKEN, and lost wake-ups stay lost. First look at the errors of sweep-tasks, at its failure queues and at its schedule.',
      section: 'sweepMissed',
    }),
  };
}
