import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { type ErrorAlarm, errorAlarms } from '../shared/alarms/errors';
import { failureAlarms, recursionAlarms, streamDelayAlarms } from '../shared/alarms/platform';
import type { FailureQueue } from '../shared/failure-queue';
import type { IQueueObservability } from '../shared/queue-parts';
import type { RustFunction } from '../shared/rust-function';
import { type Presentation, present, type QueueDashboard } from '../shared/telemetry/queue-dashboard';
import { failingAlarm } from './alarms/failing';
import { admissionAlarm, ingestAlarms } from './alarms/ingest';
import { progressAlarms } from './alarms/progress';
import type { TaskIngest } from './ingest/task-ingest';
import type { QueueSettings } from './settings';
import { taskSections } from './telemetry/dashboard';
import { GROUP_QUERIES, TASK_QUERIES } from './telemetry/queries';

export interface ObservabilityProps extends Presentation {
  /** The task table. Its name identifies the queue in the metrics. */
  readonly table: Table;
  readonly settings: QueueSettings;
  /** All functions of the queue, by name. */
  readonly functions: Readonly<Record<string, RustFunction>>;
  /** The functions that read the table's stream, by name. */
  readonly streamReaders: Readonly<Record<string, RustFunction>>;
  /** The functions in the loop of tail calls, by name. */
  readonly loop: Readonly<Record<string, RustFunction>>;
  /** The alarms on failed invocations, by their id prefix. */
  readonly errors: Readonly<Record<string, ErrorAlarm>>;
  /** All failure queues, by alarm name. */
  readonly failureQueues: Readonly<Record<string, FailureQueue>>;
  /**
   * The ingest queue.
   * @default - none
   */
  readonly ingest?: TaskIngest;
}

/**
 * The queue's alarms, dashboard and saved log queries. `docs/how-to/runbook-tasks.md` has a section per kind of alarm.
 * `docs/reference/telemetry.md` lists the metrics, log lines and queries.
 */
export class Observability extends Construct implements IQueueObservability {
  readonly all: Alarm[];
  readonly dashboard?: QueueDashboard;
  readonly dashboardUrl?: string;

  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    const { table, functions, settings } = props;
    const { alarms } = settings;
    const shown = {
      progress: progressAlarms(this, table, alarms),
      failing: failingAlarm(this, table, alarms),
      errors: errorAlarms(this, props.errors, 'taskErrors', 'doctor'),
      streamDelays: streamDelayAlarms(this, props.streamReaders, alarms),
      recursions: recursionAlarms(this, props.loop),
      failures: failureAlarms(
        this,
        props.failureQueues,
        'Pending tasks are in the table; the sweep wakes the queue for them.',
        'failures',
      ),
      ingest: [
        ...(props.ingest === undefined ? [] : ingestAlarms(this, props.ingest, alarms)),
        ...(settings.ingest?.admission === undefined ? [] : [admissionAlarm(this, table)]),
      ],
    };
    const { progress, ...others } = shown;
    this.all = [...Object.values(progress), ...Object.values(others).flat()];
    this.dashboard = present(this, props, {
      alarms: this.all,
      functions,
      queries: { ...TASK_QUERIES, ...(settings.processing.groups && GROUP_QUERIES) },
      sections: () => taskSections(shown, table, functions),
    });
    this.dashboardUrl = this.dashboard?.url;
  }
}
