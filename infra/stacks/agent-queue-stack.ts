import { CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { AGENT_QUEUE, type AgentOutputName } from '../agent-contract';
import { AgentQueue } from '../constructs/agent-queue';
import type { Environment } from '../environments';

/** Props of {@link AgentQueueStack}. */
export interface AgentQueueStackProps {
  /** Which environment this stack is. */
  readonly environment: Environment;
}

/** One queue of agents: the stack `AgentQueue-<environment>`. */
export class AgentQueueStack extends Stack {
  /** The queue. */
  readonly queue: AgentQueue;

  constructor(scope: Construct, props: AgentQueueStackProps) {
    const { environment } = props;
    super(scope, `AgentQueue-${environment.name}`, {
      env: { account: environment.account, region: environment.region },
      description: `freshq: calls meet the agent whose turn it is and who fits (${environment.name})`,
      terminationProtection: environment.terminationProtection,
    });
    this.queue = new AgentQueue(this, 'queue', {
      ...environment.agentQueue.settings,
      removalPolicy: environment.removalPolicy,
      deletionProtection: environment.deletionProtection,
      pointInTimeRecovery: environment.pointInTimeRecovery,
      logs: environment.logs,
      seed: environment.agentQueue.seed,
      alarmTopic: this.alarmTopic(environment.alarmTopicArn),
    });
    for (const [key, value] of Object.entries(environment.tags)) Tags.of(this).add(key, value);
    this.addOutputs();
  }

  private alarmTopic(arn: string | undefined): ITopic | undefined {
    return arn === undefined ? undefined : Topic.fromTopicArn(this, 'alarm-topic', arn);
  }

  private addOutputs(): void {
    const { table, intake, assignmentTopic, agentDesk } = this.queue;
    const values: Record<AgentOutputName, [value: string, description: string]> = {
      AgentTableName: [table.tableName, 'Agents, their queues and waiting calls'],
      CallQueueUrl: [intake.queue.queueUrl, 'Calls come in here'],
      AssignmentTopicArn: [assignmentTopic.topicArn, 'Assignments are published here'],
      AgentDeskFunctionName: [agentDesk.function.functionName, 'Answers commands about agents and calls'],
      CallDeadLetterQueueUrl: [intake.deadLetters.queueUrl, 'Calls that were given up, kept for 14 days'],
    };
    for (const name of AGENT_QUEUE.outputs) {
      const [value, description] = values[name];
      new CfnOutput(this, name, { value, description });
    }
  }
}
