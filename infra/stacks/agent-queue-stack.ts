import type { Construct } from 'constructs';
import { AgentQueue } from '../agents/agent-queue';
import { AGENT_QUEUE } from '../contract/agents';
import { EnvironmentStack, type EnvironmentStackProps } from './environment-stack';
import { acknowledgeFindings } from './nag-suppressions';

/**
 * Alarms that roll back a deployment. They fire within minutes if new code fails. `intake-delay` fires if match-calls
 * reports calls as failed without an invocation error. The alarm on pending calls is not in the list, because a lack
 * of agents causes it.
 */
const ROLLS_BACK = [
  'agent-desk-errors',
  'match-calls-errors',
  'sweep-agents-errors',
  'intake-delay',
  'unpublished',
];

/** Stack of one agents' queue: `AgentQueue-<environment>`. */
export class AgentQueueStack extends EnvironmentStack {
  readonly queue: AgentQueue;

  constructor(scope: Construct, props: EnvironmentStackProps) {
    super(scope, 'AgentQueue', 'assigns calls to matching agents in order', props);
    const { environment } = props;
    this.queue = new AgentQueue(this, 'queue', {
      ...environment.agentQueue.settings,
      removalPolicy: environment.removalPolicy,
      deletionProtection: environment.deletionProtection,
      pointInTimeRecovery: environment.pointInTimeRecovery,
      logs: environment.logs,
      seed: environment.agentQueue.seed,
      dashboard: environment.dashboards,
      alarmTopic: this.alarmTopic(),
    });
    this.rollBackOn(this.queue.observability.all, ROLLS_BACK);
    this.queue.exportOutputs();
    acknowledgeFindings(this);
    this.addDashboardUrl(this.queue.observability, AGENT_QUEUE.optionalOutputs.dashboard[0]);
  }
}
