import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { AgentFunction, type AgentWiring } from './agent-function';

/**
 * Takes calls from the intake queue, in the order of their group, and gives each the agent whose turn it is; a call
 * that finds none waits in the table.
 */
export class MatchCalls extends AgentFunction<'match-calls'> {
  constructor(scope: Construct, id: string, props: AgentWiring) {
    const { calls } = props.settings;
    super(scope, id, props, {
      binary: 'match-calls',
      description: 'Matches the calls of the intake queue with agents',
      environment: { CALL_QUEUE_URL: props.intake.queue.queueUrl },
      timeout: calls.functionTimeout,
      memorySize: calls.memorySize,
      // Only the intake queue invokes it, and that has retries of its own.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allowCalls(props);
    this.allowGivingUp(props);
    props.intake.feed(this);
  }
}
