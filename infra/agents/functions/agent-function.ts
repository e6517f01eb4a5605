import type { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { AgentFunctionName } from '../../contract/agents';
import type { EnvironmentOf } from '../../contract/tasks';
import type { FunctionSettings } from '../../shared/function-settings';
import { type AsyncSettings, type LogSettings, RustFunction } from '../../shared/rust-function';
import type { CallIntake } from '../call-intake';
import type { AgentQueueSettings } from '../settings';

/** Resources and settings that all functions of an agents' queue share. */
export interface AgentWiring {
  readonly table: Table;
  readonly intake: CallIntake;
  /** Topic to which assignments are published. */
  readonly assignments: Topic;
  readonly settings: AgentQueueSettings;
  readonly logs: LogSettings;
}

export interface AgentFunctionProps<F extends AgentFunctionName> {
  readonly binary: F;
  /** Description of the function, shown in the Lambda console. */
  readonly description: string;
  /** Environment variables in addition to those that all functions read. */
  readonly environment: Omit<EnvironmentOf<F>, keyof SharedEnvironment>;
  /**
   * Settings in addition to those that all functions have.
   * @default - none
   */
  readonly settings?: FunctionSettings;
  readonly timeout: Duration;
  /** Memory, in MiB. */
  readonly memorySize: number;
  readonly async: AsyncSettings;
}

type SharedEnvironment = EnvironmentOf<'sweep-agents'>;

/**
 * A function that changes agents and calls. Because any of the functions can assign a call, they share environment
 * variables, and all can read and change table items and publish assignments. No permission depends on a setting,
 * because the table keeps items that were written under earlier settings.
 */
export class AgentFunction<F extends AgentFunctionName> extends RustFunction<F> {
  constructor(scope: Construct, id: string, wiring: AgentWiring, props: AgentFunctionProps<F>) {
    const { table, assignments, logs } = wiring;
    // Casts, because the compiler can't verify that the two parts form a complete environment for a generic F.
    const environment = {
      ...sharedEnvironment(wiring),
      ...props.environment,
    } as unknown as EnvironmentOf<F>;
    const settings = { ...agentFunctionSettings(wiring.settings), ...props.settings };
    super(scope, id, { ...props, environment, settings, logs });
    this.allow(
      [
        'dynamodb:BatchWriteItem',
        'dynamodb:DeleteItem',
        'dynamodb:GetItem',
        'dynamodb:PutItem',
        'dynamodb:Query',
        'dynamodb:UpdateItem',
      ],
      [table.tableArn],
    );
    this.allow(['sns:Publish'], [assignments.topicArn]);
  }

  /** Allows the function to send messages to the dead-letter queue for calls. */
  protected allowDeadLetters({ intake }: AgentWiring): void {
    this.allow(['sqs:SendMessage'], [intake.deadLetters.queueArn]);
  }
}

function sharedEnvironment(wiring: AgentWiring): SharedEnvironment {
  return {
    AGENT_TABLE_NAME: wiring.table.tableName,
    ASSIGNMENT_TOPIC_ARN: wiring.assignments.topicArn,
    CALL_DEAD_LETTER_QUEUE_URL: wiring.intake.deadLetters.queueUrl,
  };
}

/** Returns the settings that all functions of an agents' queue share. */
export function agentFunctionSettings({ agents, calls }: AgentQueueSettings) {
  const { sweepInterval, dimensions, ...same } = agents;
  return {
    ...same,
    maxWait: calls.maxWait,
    dimensions: dimensions.map(({ name, attribute, multiValued }) => ({ name, attribute, multiValued })),
  };
}
