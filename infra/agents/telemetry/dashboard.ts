import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { AgentMetricName } from '../../contract/agents';
import { emitted } from '../../shared/alarms/custom-metric';
import type { RustFunction } from '../../shared/rust-function';
import { costGraphs, limitGraphs } from '../../shared/telemetry/platform-graphs';
import { alarmGraph, type DashboardSection, graph } from '../../shared/telemetry/queue-dashboard';
import type { agentSweepAlarms, callAlarms } from '../alarms/matching';

/** The alarms whose metrics the dashboard shows. */
type ShownAlarms = ReturnType<typeof callAlarms> &
  ReturnType<typeof agentSweepAlarms> & {
    readonly errors: readonly Alarm[];
    readonly failures: readonly Alarm[];
  };

/** Returns the dashboard sections, most urgent first. Graphs show a metric with an alarm as the alarm evaluates it. */
export function agentSections(
  alarms: ShownAlarms,
  table: Table,
  functions: Readonly<Record<string, RustFunction>>,
): DashboardSection[] {
  const counts = (...names: AgentMetricName[]) => names.map((name) => emitted(table, name));
  return [
    {
      heading: 'Freshness',
      asks: 'How long do callers wait for an agent?',
      graphs: [
        alarmGraph('Oldest pending call (s)', [alarms.oldestPending]),
        alarmGraph('Oldest message of the call queue (s)', [alarms.intakeDelay]),
        graph('Pending calls and queued agents', counts('PendingCalls', 'QueuedAgents')),
      ],
    },
    {
      heading: 'Flow',
      asks: 'Do calls get agents?',
      graphs: [
        graph('Calls', counts('CallsAssigned', 'CallsQueued', 'CallsCancelled', 'CallsExpired')),
        graph('Agents', counts('AgentsQueued', 'AgentLeasesReturned')),
        alarmGraph('Assignments published', [alarms.unpublished], counts('AssignmentsPublished')),
      ],
    },
    {
      heading: 'Errors',
      asks: 'Which calls and commands fail?',
      graphs: [
        alarmGraph(
          'Calls in the dead-letter queue',
          [alarms.deadLetters],
          counts('CallsExpired', 'CallsRejected'),
        ),
        alarmGraph('Failed invocations', alarms.errors),
        alarmGraph('Messages in failure queues', alarms.failures),
      ],
    },
    {
      heading: 'Saturation',
      asks: 'What is at its limit: contention for agents, Lambda or DynamoDB?',
      graphs: [
        graph('Contention', counts('TransactionConflicts', 'LostMatches')),
        ...limitGraphs(functions, table),
      ],
    },
    {
      heading: 'Cost',
      asks: 'What does AWS bill?',
      graphs: [...costGraphs(functions, table), alarmGraph('Sweeps', [alarms.sweepMissed])],
    },
  ];
}
