import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { errorAlarms } from '../lambda/alarms/errors';
import { failureAlarms } from '../lambda/alarms/platform';
import type { IQueueObservability } from '../lambda/queue-parts';
import { QueueDashboard } from '../lambda/telemetry/queue-dashboard';
import { SavedQueries } from '../lambda/telemetry/saved-queries';
import { agentSweepAlarms, callAlarms } from './alarms/matching';
import type { CallIntake } from './call-intake';
import type { AgentDesk } from './functions/agent-desk';
import type { MatchCalls } from './functions/match-calls';
import type { SweepAgents } from './functions/sweep-agents';
import type { AgentQueueSettings } from './settings';
import { agentSections } from './telemetry/dashboard';
import { AGENT_QUERIES } from './telemetry/queries';

export interface AgentObservabilityProps {
  /** The agents' table. Its name is the dimension of the queue's metrics. */
  readonly table: Table;
  readonly intake: CallIntake;
  readonly agentDesk: AgentDesk;
  readonly matchCalls: MatchCalls;
  readonly sweepAgents: SweepAgents;
  /** Settings of the queue, with the thresholds of the alarms. */
  readonly settings: AgentQueueSettings;
  /** Whether there is a dashboard. */
  readonly dashboard: boolean;
  /**
   * SNS topic to which the alarms publish.
   * @default - none; only the console shows the alarms
   */
  readonly alarmTopic?: ITopic;
}

/**
 * Alarms, the dashboard and the saved queries of the agents' queue. `docs/how-to/runbook-agents.md` has a section for each
 * kind of alarm. `docs/reference/telemetry.md` has the metrics, the lines of the logs and the queries.
 */
export class AgentObservability extends Construct implements IQueueObservability {
  /** Every alarm, so that an app can add actions. */
  readonly all: Alarm[];
  /** Dashboard with freshness, flow, errors, saturation and cost; undefined if it is switched off. */
  readonly dashboard?: QueueDashboard;
  readonly dashboardUrl?: string;
  /** Saved queries on the functions' logs. */
  readonly queries: SavedQueries;

  constructor(scope: Construct, id: string, props: AgentObservabilityProps) {
    super(scope, id);
    const { table, intake, agentDesk, matchCalls, sweepAgents, settings } = props;
    const calls = callAlarms(this, table, intake, settings);
    const sweep = agentSweepAlarms(this, table, settings);
    const errors = errorAlarms(
      this,
      {
        'agent-desk': { of: { 'agent-desk': agentDesk }, above: settings.alarms.deskErrors },
        'match-calls': { of: { 'match-calls': matchCalls }, above: 0 },
        'sweep-agents': { of: { 'sweep-agents': sweepAgents }, above: 0 },
      },
      'functionErrors',
      'doctor --agents',
    );
    const failures = failureAlarms(
      this,
      {
        'agent-desk-failures': agentDesk.failures,
        'match-calls-failures': matchCalls.failures,
        'sweep-agents-failures': sweepAgents.failures,
        'sweep-agents-undelivered': sweepAgents.schedule.undelivered,
      },
      'Agents and pending calls stay in the table, and new calls stay in the call queue.',
      'agentFailures',
    );
    this.all = [...Object.values(calls), ...Object.values(sweep), ...errors, ...failures];
    const functions = { 'agent-desk': agentDesk, 'match-calls': matchCalls, 'sweep-agents': sweepAgents };
    this.queries = new SavedQueries(this, 'queries', { queries: AGENT_QUERIES, functions });
    if (props.dashboard) {
      const sections = agentSections({ ...calls, ...sweep, errors, failures }, table, functions);
      this.dashboard = new QueueDashboard(this, 'dashboard', { alarms: this.all, sections });
      this.dashboardUrl = this.dashboard.url;
    }
    if (props.alarmTopic === undefined) return;
    const action = new SnsAction(props.alarmTopic);
    for (const alarm of this.all) alarm.addAlarmAction(action);
  }
}
