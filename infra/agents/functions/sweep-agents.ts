import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { FunctionSchedule } from '../../lambda/schedule';
import { AgentFunction, type AgentWiring } from './agent-function';

/**
 * Looks regularly for expired calls, expired call leases, unpublished assignments, and pending calls beside a matching
 * agent.
 */
export class SweepAgents extends AgentFunction<'sweep-agents'> {
  /** What invokes it. */
  readonly schedule: FunctionSchedule;

  constructor(scope: Construct, id: string, props: AgentWiring) {
    super(scope, id, props, {
      binary: 'sweep-agents',
      description: 'Ends expired calls and expired call leases, publishes remaining assignments',
      environment: {},
      // Ended before the next round, which may come after a minute.
      timeout: Duration.seconds(50),
      memorySize: 256,
      // The next round is the retry.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allowGivingUp(props);
    // Only a call that may return to its line is looked up.
    if (props.settings.agents.answerWithin) this.allowCalls(props);
    this.schedule = new FunctionSchedule(this, 'regularly', {
      target: this,
      every: props.settings.agents.sweepInterval,
      description: 'Looks for calls that waited too long and for leases that expired',
    });
  }
}
