import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { emitted } from '../../shared/alarms/custom-metric';
import { freshq, QueueAlarm } from '../../shared/alarms/queue-alarm';
import type { AlarmSettings } from '../settings/alarms';

/** Alarm period, long enough for one task per minute and short enough for a deployment's rollback watch. */
const PERIOD = Duration.minutes(5);

/**
 * Creates the alarm on the number and share of tasks that end as FAILURE. A failed task counts as settled, so the
 * progress alarms don't fire when a downstream returns an error for every task.
 */
export function failingAlarm(
  scope: Construct,
  table: Table,
  { failedTasks, failedShare }: Required<AlarmSettings>,
): QueueAlarm {
  const count = (name: 'Failed' | 'LeasesFailed' | 'Succeeded') => emitted(table, name, { period: PERIOD });
  // The functions don't emit zeros. Without FILL, a sum with a missing value would also be missing.
  const failures = new MathExpression({
    expression: 'FILL(failed,0)+FILL(died,0)',
    usingMetrics: { failed: count('Failed'), died: count('LeasesFailed') },
    label: 'failed tasks',
    period: PERIOD,
  });
  const metric = new MathExpression({
    expression: `IF(failures >= ${failedTasks} AND failures > ${failedShare}*(failures+FILL(succeeded,0)), failures, 0)`,
    usingMetrics: { failures, succeeded: count('Succeeded') },
    label: 'failed tasks, if their number and their share are too large',
    period: PERIOD,
  });
  return new QueueAlarm(scope, 'failing', {
    metric,
    fires: { above: 0 },
    says: `In five minutes at least ${failedTasks} tasks ended as FAILURE, more than ${percent(failedShare)} of all finished tasks. First run ${freshq(scope, 'errors')}, which groups tasks by their last error. To prevent further failures while you fix the cause, run freshq pause; then run freshq redrive to retry the failed tasks.`,
    section: 'failing',
  });
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(2))} %`;
}
