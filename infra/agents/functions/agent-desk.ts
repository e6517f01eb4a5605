import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { AgentFunction, type AgentWiring } from './agent-function';

export interface AgentDeskProps extends AgentWiring {
  /** Whether the `seed` command creates sample agents. Not for production. */
  readonly seed: boolean;
}

/** Executes commands for agents and calls, such as `register`, `enqueue` and `match`, and returns the result. */
export class AgentDesk extends AgentFunction<'agent-desk'> {
  constructor(scope: Construct, id: string, props: AgentDeskProps) {
    super(scope, id, props, {
      binary: 'agent-desk',
      description: 'Registers agents, queues them and matches calls with them',
      environment: {},
      settings: { seed: props.seed },
      timeout: Duration.seconds(30),
      memorySize: 256,
      // Callers wait for the response. Asynchronous commands aren't retried, because a retry would be too late.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
  }
}
