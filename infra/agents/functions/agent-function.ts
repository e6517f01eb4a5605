import type { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { AgentFunctionName } from '../../contract/agents';
import type { EnvironmentOf } from '../../contract/tasks';
import type { FunctionSettings } from '../../lambda/function-settings';
import { type AsyncSettings, type LogSettings, RustFunction } from '../../lambda/rust-function';
import type { CallIntake } from '../call-intake';
import type { AgentQueueSettings } from '../settings';

/** What all functions of an agents' queue work on. */
export interface AgentWiring {
  readonly table: Table;
  /** The call queue and its dead-letter queue. */
  readonly intake: CallIntake;
  /** Assignments go there. */
  readonly assignments: Topic;
  readonly settings: AgentQueueSettings;
  readonly logs: LogSettings;
}

/** What one function has of its own. */
export interface AgentFunctionProps<F extends AgentFunctionName> {
  readonly binary: F;
  /** What the function is for, as the console shows it. */
  readonly description: string;
  /** Variables beside those that all functions read. */
  readonly environment: Omit<EnvironmentOf<F>, keyof SharedEnvironment>;
  /**
   * Settings beside those that all functions have.
   * @default - none
   */
  readonly settings?: FunctionSettings;
  /** How long an invocation may take. */
  readonly timeout: Duration;
  /** Memory, MiB. */
  readonly memorySize: number;
  /** Asynchronous invocations. */
  readonly async: AsyncSettings;
}

type SharedEnvironment = EnvironmentOf<'sweep-agents'>;

/**
 * A function that changes agents and calls. Each of them may meet a call with an agent, so all have the same
 * environment, and may change items of the table and publish assignments.
 */
export class AgentFunction<F extends AgentFunctionName> extends RustFunction<F> {
  constructor(scope: Construct, id: string, wiring: AgentWiring, props: AgentFunctionProps<F>) {
    const { table, assignments, logs } = wiring;
    // The compiler cannot see that the two halves of an environment make a whole while F is open.
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
        'dynamodb:PutItem',
        'dynamodb:Query',
        'dynamodb:UpdateItem',
      ],
      [table.tableArn],
    );
    this.allow(['sns:Publish'], [assignments.topicArn]);
  }

  /** Lets the function look a known call up. */
  protected allowCalls({ table }: AgentWiring): void {
    this.allow(['dynamodb:GetItem'], [table.tableArn]);
  }

  /** Lets the function send expired calls to the dead-letter queue. */
  protected allowGivingUp({ intake }: AgentWiring): void {
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

/** What the functions of an agents' queue are set up with. */
export function agentFunctionSettings({ agents, calls }: AgentQueueSettings) {
  const { sweepInterval, dimensions, ...same } = agents;
  return {
    ...same,
    maxWait: calls.maxWait,
    dimensions: dimensions.map(({ name, attribute, multiValued }) => ({ name, attribute, multiValued })),
  };
}
