import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { type MetricName, TABLE } from '../../contract/tasks';
import { emitted } from '../../shared/alarms/custom-metric';
import type { RustFunction } from '../../shared/rust-function';
import { costGraphs, limitGraphs } from '../../shared/telemetry/platform-graphs';
import { alarmGraph, type DashboardSection, graph, queryGraph } from '../../shared/telemetry/queue-dashboard';
import type { progressAlarms } from '../alarms/progress';
import { TASK_QUERIES } from './queries';

/** The alarms whose metrics the dashboard shows. */
interface ShownAlarms {
  readonly progress: ReturnType<typeof progressAlarms>;
  readonly failing: Alarm;
  readonly errors: readonly Alarm[];
  readonly streamDelays: readonly Alarm[];
  readonly failures: readonly Alarm[];
  readonly ingest: readonly Alarm[];
}

/** Returns the dashboard sections, most urgent first. Graphs show a metric with an alarm as the alarm evaluates it. */
export function taskSections(
  alarms: ShownAlarms,
  table: Table,
  functions: Readonly<Record<string, RustFunction>>,
): DashboardSection[] {
  const counts = (...names: MetricName[]) => names.map((name) => emitted(table, name));
  const { oldestPending, paused, breakerOpen, stalled } = alarms.progress;
  const ingest = (id: string) => alarms.ingest.filter(({ node }) => node.id === `${id}-alarm`);
  const notAdmitted = ingest('not-admitted');
  return [
    {
      heading: 'Freshness',
      asks: 'How old are tasks when they start, and are older tasks pending?',
      graphs: [
        alarmGraph('Oldest pending task (s)', [oldestPending]),
        queryGraph('Age at start (ms)', TASK_QUERIES['age-at-start'], functions),
        alarmGraph('Delay of the stream (ms)', alarms.streamDelays),
        ...(alarms.ingest.length > 0 ? [alarmGraph('Oldest message (s)', ingest('ingest-delay'))] : []),
      ],
    },
    {
      heading: 'Flow',
      asks: 'Do as many tasks end as arrive?',
      graphs: [
        graph(
          'Arrived and ended',
          counts('TasksCreated', 'TasksSuperseded', 'Succeeded', 'Failed', 'LeasesFailed', 'ShedTasks'),
        ),
        graph('Tasks in the queue', counts('PendingTasks', 'TakenTasks')),
        ...(notAdmitted.length > 0 ? [alarmGraph('Not admitted', notAdmitted)] : []),
        graph(
          'Starts, and wake-ups (right)',
          counts('Taken', 'Retried'),
          counts('WakeUpsPublished', 'TailCalls'),
        ),
      ],
    },
    {
      heading: 'Errors',
      asks: 'What fails, and does it fail permanently?',
      graphs: [
        alarmGraph('Failed tasks', [alarms.failing], counts('Failed', 'LeasesFailed', 'LeasesReturned')),
        alarmGraph('Failed invocations', alarms.errors),
        alarmGraph('Messages in failure queues', [...alarms.failures, ...ingest('ingest-dead-letters')]),
      ],
    },
    {
      heading: 'Saturation',
      asks: 'What is at its limit: the downstream, Lambda or DynamoDB?',
      graphs: [
        alarmGraph(
          'Backpressure',
          [paused, breakerOpen, stalled],
          counts('Busy', 'Unavailable', 'OverloadedSeconds'),
        ),
        graph('Limit on concurrent tasks', counts('ConcurrencyLimit')),
        ...limitGraphs(functions, table, TABLE.index),
      ],
    },
    {
      heading: 'Cost',
      asks: 'What does AWS bill, and for how much idle work?',
      graphs: [
        ...costGraphs(functions, table, TABLE.index),
        graph('Idle work', counts('EmptyPolls', 'LostRaces', 'Sweeps')),
      ],
    },
  ];
}
