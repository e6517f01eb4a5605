import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { AgentFunction, type AgentWiring } from './agent-function';

/** Props of {@link AgentDesk}. */
export interface AgentDeskProps extends AgentWiring {
  /** Whether `seed` makes up agents. Never in production. */
  readonly seed: boolean;
}

/** Answers commands about agents and calls, each with its result: register, available, enqueue, match and so on. */
export class AgentDesk extends AgentFunction<'agent-desk'> {
  constructor(scope: Construct, id: string, props: AgentDeskProps) {
    super(scope, id, props, {
      binary: 'agent-desk',
      description: 'Registers agents, queues them and matches calls with them',
      environment: {},
      settings: { seed: props.seed },
      timeout: Duration.seconds(30),
      memorySize: 256,
      // Callers wait for the answer. An asynchronous command is not retried: its effect would come too late.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    this.allowCalls(props);
  }
}
