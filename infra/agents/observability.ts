import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { errorAlarms } from '../shared/alarms/errors';
import { failureAlarms } from '../shared/alarms/platform';
import type { IQueueObservability } from '../shared/queue-parts';
import { type Presentation, present, type QueueDashboard } from '../shared/telemetry/queue-dashboard';
import { agentSweepAlarms, callAlarms } from './alarms/matching';
import type { CallIntake } from './call-intake';
import type { AgentDesk } from './functions/agent-desk';
import type { MatchCalls } from './functions/match-calls';
import type { SweepAgents } from './functions/sweep-agents';
import type { AgentQueueSettings } from './settings';
import { agentSections } from './telemetry/dashboard';
import { AGENT_QUERIES } from './telemetry/queries';

export interface AgentObservabilityProps extends Presentation {
  /** The agent table. Its name is the dimension value of the queue's metrics. */
  readonly table: Table;
  readonly intake: CallIntake;
  readonly agentDesk: AgentDesk;
  readonly matchCalls: MatchCalls;
  readonly sweepAgents: SweepAgents;
  readonly settings: AgentQueueSettings;
}

/**
 * Alarms, the dashboard and saved queries of the agents' queue. `docs/how-to/runbook-agents.md` has a section per kind
 * of alarm. `docs/reference/telemetry.md` lists the metrics, log lines and queries.
 */
export class AgentObservability extends Construct implements IQueueObservability {
  readonly all: Alarm[];
  readonly dashboard?: QueueDashboard;
  readonly dashboardUrl?: string;

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
    this.dashboard = present(this, props, {
      alarms: this.all,
      functions,
      queries: AGENT_QUERIES,
      sections: () => agentSections({ ...calls, ...sweep, errors, failures }, table, functions),
    });
    this.dashboardUrl = this.dashboard?.url;
  }
}
