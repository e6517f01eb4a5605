import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { AgentFunction, type AgentWiring } from './agent-function';

/**
 * Processes calls from the call queue, in order within their message group, and assigns each to the first matching
 * agent. A call without a matching agent becomes pending in the table.
 */
export class MatchCalls extends AgentFunction<'match-calls'> {
  constructor(scope: Construct, id: string, props: AgentWiring) {
    const { calls } = props.settings;
    super(scope, id, props, {
      binary: 'match-calls',
      description: 'Matches the calls of the call queue with agents',
      environment: { CALL_QUEUE_URL: props.intake.queue.queueUrl },
      timeout: calls.functionTimeout,
      memorySize: calls.memorySize,
      // Only the call queue invokes this function, synchronously. SQS redelivers failed messages.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allowDeadLetters(props);
    props.intake._feed(this);
  }
}
