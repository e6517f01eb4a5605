import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { type ErrorAlarm, errorAlarms } from '../lambda/alarms/errors';
import { failureAlarms, recursionAlarms, streamDelayAlarms } from '../lambda/alarms/platform';
import type { FailureQueue } from '../lambda/failure-queue';
import type { IQueueObservability } from '../lambda/queue-parts';
import type { RustFunction } from '../lambda/rust-function';
import { QueueDashboard } from '../lambda/telemetry/queue-dashboard';
import { SavedQueries } from '../lambda/telemetry/saved-queries';
import { failingAlarm } from './alarms/failing';
import { admissionAlarm, ingestAlarms } from './alarms/ingest';
import { type ProgressAlarms, progressAlarms } from './alarms/progress';
import type { TaskIngest } from './ingest/task-ingest';
import type { QueueSettings } from './settings';
import { taskSections } from './telemetry/dashboard';
import { GROUP_QUERIES, TASK_QUERIES } from './telemetry/queries';

/** Props of {@link Observability}. */
export interface ObservabilityProps {
  /** The task table. Its name identifies the queue in the metrics. */
  readonly table: Table;
  /** The queue's settings; `alarms` has the thresholds. */
  readonly settings: QueueSettings;
  /** Every function of the queue, by name. */
  readonly functions: Readonly<Record<string, RustFunction>>;
  /** The functions that read the table's stream, by name. */
  readonly streamReaders: Readonly<Record<string, RustFunction>>;
  /** The functions of the loop of tail calls, by name. */
  readonly loop: Readonly<Record<string, RustFunction>>;
  /** The alarms on failed invocations, by the prefix of their ids. */
  readonly errors: Readonly<Record<string, ErrorAlarm>>;
  /** Every failure queue, by the name of its alarm. */
  readonly failureQueues: Readonly<Record<string, FailureQueue>>;
  /**
   * The ingest queue.
   * @default - none
   */
  readonly ingest?: TaskIngest;
  /** Whether to create a dashboard. */
  readonly dashboard: boolean;
  /**
   * The topic to which the alarms publish.
   * @default - none; only the CloudWatch console shows the alarms
   */
  readonly alarmTopic?: ITopic;
}

/**
 * The queue's alarms, its dashboard and the saved queries of its logs. `docs/how-to/runbook-tasks.md` has a section for each
 * kind of alarm, `docs/reference/telemetry.md` has the metrics, the lines of the logs and the queries.
 */
export class Observability extends Construct implements IQueueObservability {
  /** The queue makes no progress. */
  readonly progress: ProgressAlarms;
  /** Too many tasks end as FAILURE. */
  readonly failing: Alarm;
  /** Invocations of a function fail. */
  readonly errors: readonly Alarm[];
  /** A reader of the stream is late. */
  readonly streamDelays: readonly Alarm[];
  /** Lambda dropped a tail call, because it takes the tail calls for a runaway loop. */
  readonly recursions: readonly Alarm[];
  /** A failure queue has messages. */
  readonly failures: readonly Alarm[];
  /** Ingest messages are rejected or late; empty without an ingest queue. */
  readonly ingest: readonly Alarm[];
  /** Graphs of freshness, flow, errors, saturation and cost, unless the dashboard is switched off. */
  readonly dashboard?: QueueDashboard;
  readonly dashboardUrl?: string;
  /** Saved queries of the functions' logs. */
  readonly queries: SavedQueries;

  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    const { alarms } = props.settings;
    this.progress = progressAlarms(this, props.table, alarms);
    this.failing = failingAlarm(this, props.table, alarms);
    this.errors = errorAlarms(this, props.errors, 'taskErrors', 'doctor');
    this.streamDelays = streamDelayAlarms(this, props.streamReaders, alarms);
    this.recursions = recursionAlarms(this, props.loop);
    this.failures = failureAlarms(
      this,
      props.failureQueues,
      'Pending tasks are in the table; the sweep wakes the queue for them.',
      'failures',
    );
    this.ingest = [
      ...(props.ingest === undefined ? [] : ingestAlarms(this, props.ingest, alarms)),
      ...(props.settings.ingest?.admission === undefined ? [] : [admissionAlarm(this, props.table)]),
    ];
    const { table, functions } = props;
    const queries = { ...TASK_QUERIES, ...(props.settings.processing.groups && GROUP_QUERIES) };
    this.queries = new SavedQueries(this, 'queries', { queries, functions });
    if (props.dashboard) {
      const sections = taskSections(this, table, functions);
      this.dashboard = new QueueDashboard(this, 'dashboard', { alarms: this.all, sections });
      this.dashboardUrl = this.dashboard.url;
    }
    if (props.alarmTopic === undefined) return;
    const action = new SnsAction(props.alarmTopic);
    for (const alarm of this.all) alarm.addAlarmAction(action);
  }

  /** Every alarm, for example to add your own actions. */
  get all(): Alarm[] {
    return [
      ...Object.values(this.progress),
      this.failing,
      ...this.errors,
      ...this.streamDelays,
      ...this.recursions,
      ...this.failures,
      ...this.ingest,
    ];
  }
}
