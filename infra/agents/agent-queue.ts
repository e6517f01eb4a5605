import { RemovalPolicy } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { alarmTopicProblems } from '../lambda/alarms/alarm-topic';
import { refuse } from '../lambda/problem';
import { SecureTopic } from '../lambda/queue-topic';
import type { LogSettings } from '../lambda/rust-function';
import { AgentTable } from './agent-table';
import { CallIntake } from './call-intake';
import { AgentDesk } from './functions/agent-desk';
import type { AgentWiring } from './functions/agent-function';
import { MatchCalls } from './functions/match-calls';
import { SweepAgents } from './functions/sweep-agents';
import { AgentObservability } from './observability';
import { agentSettingsProblems } from './rules';
import { type PartialAgentQueueSettings, resolveAgentSettings } from './settings';

/** Props of {@link AgentQueue}. The settings of `agents`, `calls` and `alarms` have defaults one by one. */
export interface AgentQueueProps extends PartialAgentQueueSettings {
  /**
   * The fate of the table, the queues and the logs when the stack is deleted.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * Whether DynamoDB rejects the deletion of the table.
   * @default true
   */
  readonly deletionProtection?: boolean;
  /**
   * Whether the table can be restored to any second of the last 35 days.
   * @default true
   */
  readonly pointInTimeRecovery?: boolean;
  /**
   * How the functions log.
   * @default - level INFO, kept for a month
   */
  readonly logs?: Partial<Pick<LogSettings, 'level' | 'retention'>>;
  /**
   * Lets `agent-desk` create sample agents (`{"command":"seed","count":5}`). Not for production.
   * @default false
   */
  readonly seed?: boolean;
  /**
   * Whether the queue has a CloudWatch dashboard. CloudWatch bills 3 USD a month for each dashboard of an account beyond
   * the first three. The saved queries cost nothing and are always there.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * The topic that alarms go to. CloudWatch must be allowed to publish there.
   * @default - none; the console shows the alarms
   */
  readonly alarmTopic?: ITopic;
}

/**
 * Assigns calls to matching agents in order: intake queue or desk → table → assignment → topic. A sweep repairs what a
 * crash or a fault left behind.
 */
export class AgentQueue extends Construct {
  /** Agents, their queues and waiting calls. Only the queue's own functions write it. */
  readonly table: Table;
  /** Where calls come in; see {@link grantEnqueueCall}. */
  readonly intake: CallIntake;
  /** Assignments, each published once at least, its call's id as the key to recognise it by. */
  readonly assignmentTopic: Topic;
  /** Answers commands; see {@link grantDesk}. */
  readonly agentDesk: AgentDesk;
  /** Matches calls of the intake queue. */
  readonly matchCalls: MatchCalls;
  /** Finds what was lost or took too long. */
  readonly sweepAgents: SweepAgents;
  /** Alarms, the dashboard and saved queries. */
  readonly observability: AgentObservability;

  constructor(scope: Construct, id: string, props: AgentQueueProps = {}) {
    super(scope, id);
    const settings = resolveAgentSettings(props);
    refuse(this.node.path, [...agentSettingsProblems(settings), ...alarmTopicProblems(props.alarmTopic)]);
    const removalPolicy = props.removalPolicy ?? RemovalPolicy.RETAIN;
    const logs: LogSettings = {
      level: props.logs?.level ?? ApplicationLogLevel.INFO,
      retention: props.logs?.retention ?? RetentionDays.ONE_MONTH,
      removalPolicy,
    };

    this.table = new AgentTable(this, 'agent-table', {
      removalPolicy,
      deletionProtection: props.deletionProtection ?? true,
      pointInTimeRecovery: props.pointInTimeRecovery ?? true,
    });
    this.intake = new CallIntake(this, 'call-intake', { settings, removalPolicy });
    this.assignmentTopic = new SecureTopic(this, 'assignment-topic');
    const wiring: AgentWiring = {
      table: this.table,
      intake: this.intake,
      assignments: this.assignmentTopic,
      settings,
      logs,
    };

    this.agentDesk = new AgentDesk(this, 'agent-desk', { ...wiring, seed: props.seed ?? false });
    this.matchCalls = new MatchCalls(this, 'match-calls', wiring);
    this.sweepAgents = new SweepAgents(this, 'sweep-agents', wiring);
    this.observability = new AgentObservability(this, 'observability', {
      table: this.table,
      intake: this.intake,
      agentDesk: this.agentDesk,
      matchCalls: this.matchCalls,
      sweepAgents: this.sweepAgents,
      settings,
      dashboard: props.dashboard ?? true,
      alarmTopic: props.alarmTopic,
    });
  }

  /** Lets a principal give commands: by invoking `agent-desk`, and in no other way. */
  grantDesk(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [this.agentDesk.function.functionArn],
    });
  }

  /** Lets a principal send calls into the intake queue, and do nothing else. */
  grantEnqueueCall(grantee: IGrantable): Grant {
    return this.intake.grantSend(grantee);
  }
}
