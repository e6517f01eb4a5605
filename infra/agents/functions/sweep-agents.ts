import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { FunctionSchedule } from '../../shared/schedule';
import { AgentFunction, type AgentWiring } from './agent-function';

/**
 * Periodically checks for expired calls, expired call leases, unpublished assignments, and pending calls for which a
 * matching agent is queued.
 */
export class SweepAgents extends AgentFunction<'sweep-agents'> {
  readonly schedule: FunctionSchedule;

  constructor(scope: Construct, id: string, props: AgentWiring) {
    super(scope, id, props, {
      binary: 'sweep-agents',
      description: 'Ends expired calls and expired call leases, publishes remaining assignments',
      environment: {},
      // Less than the minimum interval of one minute, so that a sweep ends before the next one starts.
      timeout: Duration.seconds(50),
      memorySize: 256,
      // No retries, because the next sweep does the same work.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allowDeadLetters(props);
    this.schedule = new FunctionSchedule(this, 'regularly', {
      target: this,
      every: props.settings.agents.sweepInterval,
      description: 'Looks for expired calls, expired call leases and unpublished assignments',
    });
  }
}
