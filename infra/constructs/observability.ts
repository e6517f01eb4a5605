import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { METRICS, type MetricName } from '../contract';
import type { FailureQueue } from './failure-queue';

/** Props of {@link Observability}. */
export interface ObservabilityProps {
  /** The task table: its name tells one queue's metrics from another's. */
  readonly table: Table;
  /** Every queue for what could not be delivered or processed, by a name for its alarm. */
  readonly failureQueues: Readonly<Record<string, FailureQueue>>;
  /**
   * Who is told.
   * @default - nobody; the alarms are seen in the console
   */
  readonly alarmTopic?: ITopic;
}

/** Tells when the queue needs a person: it paused, it makes no progress, or something failed for good. */
export class Observability extends Construct {
  /** The downstream refuses us, and the queue waits. */
  readonly paused: Alarm;
  /** Turn after turn settled nothing, and the queue waits for the sweep. */
  readonly stalled: Alarm;
  /** Something lies in a failure queue. */
  readonly failures: readonly Alarm[];

  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    this.paused = this.alarm(
      'paused',
      emitted(props.table, 'QueuePaused'),
      'The downstream refuses several distinct tasks (401, 403 or 404): check credentials and address. The queue goes on by itself after its pause.',
    );
    this.stalled = this.alarm(
      'stalled',
      emitted(props.table, 'IdleBoundReached'),
      'Many turns in a row settled nothing: look at the downstream and at the errors of process-tasks. The sweep wakes the queue every minute.',
    );
    this.failures = Object.entries(props.failureQueues).map(([name, queue]) =>
      this.alarm(
        name,
        queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: 'Maximum' }),
        'Something could not be delivered or processed: read the message in the queue, mend the cause, then delete it. Tasks themselves are in the table; the sweep wakes the queue for them.',
      ),
    );
    if (props.alarmTopic !== undefined) {
      const action = new SnsAction(props.alarmTopic);
      for (const alarm of [this.paused, this.stalled, ...this.failures]) alarm.addAlarmAction(action);
    }
  }

  private alarm(id: string, metric: IMetric, alarmDescription: string): Alarm {
    return new Alarm(this, `${id}-alarm`, {
      metric,
      threshold: 0,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription,
    });
  }
}

/** A metric that the functions of one queue emit, summed by the minute. */
function emitted(table: Table, metricName: MetricName): IMetric {
  return new Metric({
    namespace: METRICS.namespace,
    metricName,
    dimensionsMap: { [METRICS.dimension]: table.tableName },
    statistic: 'Sum',
    period: Duration.minutes(1),
  });
}
