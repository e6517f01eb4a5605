import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { errorAlarms } from '../../lambda/alarms/errors';
import { failureAlarms } from '../../lambda/alarms/platform';
import type { CallIntake } from '../call-intake';
import type { AgentDesk } from '../functions/agent-desk';
import type { MatchCalls } from '../functions/match-calls';
import type { SweepAgents } from '../functions/sweep-agents';
import type { AgentQueueSettings } from '../settings';
import { agentSweepAlarms, callAlarms } from './matching';

/** Props of {@link AgentObservability}. */
export interface AgentObservabilityProps {
  /** The agents' table: its name tells one queue's metrics from another's. */
  readonly table: Table;
  readonly intake: CallIntake;
  readonly agentDesk: AgentDesk;
  readonly matchCalls: MatchCalls;
  readonly sweepAgents: SweepAgents;
  /** When the alarms ring. */
  readonly settings: AgentQueueSettings;
  /**
   * The topic that alarms go to.
   * @default - none; the console shows the alarms
   */
  readonly alarmTopic?: ITopic;
}

/** Tells when the agents' queue needs a person. `docs/how-to/operate.md` has a section for each kind of alarm. */
export class AgentObservability extends Construct {
  /** Every alarm, to add actions of one's own. */
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AgentObservabilityProps) {
    super(scope, id);
    const { table, intake, agentDesk, matchCalls, sweepAgents, settings } = props;
    this.all = [
      ...callAlarms(this, table, intake, settings),
      ...agentSweepAlarms(this, table, settings),
      ...errorAlarms(
        this,
        {
          'agent-desk': { of: { 'agent-desk': agentDesk }, above: settings.alarms.deskErrors },
          'match-calls': { of: { 'match-calls': matchCalls }, above: 0 },
          'sweep-agents': { of: { 'sweep-agents': sweepAgents }, above: 0 },
        },
        'functionErrors',
      ),
      ...failureAlarms(
        this,
        {
          'agent-desk-failures': agentDesk.failures,
          'match-calls-failures': matchCalls.failures,
          'sweep-agents-failures': sweepAgents.failures,
          'sweep-agents-undelivered': sweepAgents.schedule.undelivered,
        },
        'Agents and waiting calls are in the table, calls that come in are in the intake queue.',
      ),
    ];
    if (props.alarmTopic === undefined) return;
    const action = new SnsAction(props.alarmTopic);
    for (const alarm of this.all) alarm.addAlarmAction(action);
  }
}
