import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { AgentOutputName } from '../contract/agents';
import { alarmTopicProblems, connectAlarms } from '../shared/alarms/alarm-topic';
import { grantInvoking } from '../shared/grants';
import { addOutputs, type Outputs } from '../shared/outputs';
import { reject } from '../shared/problem';
import type { IQueueFunction, IQueueIntake, IQueueObservability } from '../shared/queue-parts';
import { SecureTopic } from '../shared/queue-topic';
import type { LogOptions, LogSettings } from '../shared/rust-function';
import { formerWarnings } from '../shared/setting';
import { AgentTable } from './agent-table';
import { CallIntake } from './call-intake';
import { AgentDesk } from './functions/agent-desk';
import type { AgentWiring } from './functions/agent-function';
import { MatchCalls } from './functions/match-calls';
import { SweepAgents } from './functions/sweep-agents';
import { AgentObservability } from './observability';
import { agentSettingsProblems } from './rules';
import { CALLS, type PartialAgentQueueSettings, resolveAgentSettings } from './settings';

/** Props of {@link AgentQueue}. Each setting in `agents`, `calls` and `alarms` has its own default. */
export interface AgentQueueProps extends PartialAgentQueueSettings {
  /**
   * Removal policy, which determines whether stack deletion deletes or retains the table, the queues and the logs.
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
   * Log level and log retention of the functions.
   * @default - level INFO, retention of one month
   */
  readonly logs?: LogOptions;
  /**
   * Whether `agent-desk` can create sample agents (`{"command":"seed","count":5}`). Not for production.
   * @default false
   */
  readonly seed?: boolean;
  /**
   * Whether to create a CloudWatch dashboard for the queue. CloudWatch charges 3 USD per month for it. The free tier
   * covers three dashboards per account with up to 50 metrics each. The saved queries are free and are always created.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * The topic that alarms publish to, in the queue's region. If it has a policy (for example from `enforceSSL`) or its
   * own KMS key, the queue adds a statement that lets CloudWatch publish. Synthesis rejects a topic that CloudWatch can't
   * publish to. The policies of an imported topic and an imported key must already allow it.
   * @default - none; alarms appear only in the CloudWatch console, and synthesis prints a warning
   */
  readonly alarmTopic?: ITopic;
}

/**
 * Assigns calls to matching agents in order. A call arrives through the call queue or `agent-desk`. Its assignment is
 * published to a topic. A sweep completes work left unfinished by crashed processes.
 */
export class AgentQueue extends Construct {
  /** Table for agents, their queues and calls. Only this construct's functions write to it. */
  readonly table: Table;
  /** The call queue and its dead-letter queue; see {@link grantEnqueueCall}. */
  readonly intake: IQueueIntake;
  /** Topic that receives each assignment at least once. Subscribers deduplicate by call id and assignment number. */
  readonly assignmentTopic: Topic;
  /** Function that executes commands; see {@link grantDesk}. */
  readonly agentDesk: IQueueFunction;
  /** Function that matches calls from the call queue with agents. */
  readonly matchCalls: IQueueFunction;
  /** Function that processes expired calls and call leases, and publishes remaining assignments. */
  readonly sweepAgents: IQueueFunction;
  /** Alarms, the dashboard and saved queries. */
  readonly observability: IQueueObservability;

  constructor(scope: Construct, id: string, props: AgentQueueProps = {}) {
    super(scope, id);
    const settings = resolveAgentSettings(props);
    reject(this.node.path, [
      ...agentSettingsProblems(settings),
      ...alarmTopicProblems(props.alarmTopic, Stack.of(this).region),
    ]);
    for (const { id, text } of formerWarnings('calls', CALLS, props.calls)) {
      Annotations.of(this).addWarningV2(id, text);
    }
    connectAlarms(this, props.alarmTopic);
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
    const intake = new CallIntake(this, 'call-intake', { settings, removalPolicy });
    this.assignmentTopic = new SecureTopic(this, 'assignment-topic');
    const wiring: AgentWiring = {
      table: this.table,
      intake,
      assignments: this.assignmentTopic,
      settings,
      logs,
    };

    const agentDesk = new AgentDesk(this, 'agent-desk', { ...wiring, seed: props.seed ?? false });
    const matchCalls = new MatchCalls(this, 'match-calls', wiring);
    const sweepAgents = new SweepAgents(this, 'sweep-agents', wiring);
    this.observability = new AgentObservability(this, 'observability', {
      table: this.table,
      intake,
      agentDesk,
      matchCalls,
      sweepAgents,
      settings,
      dashboard: props.dashboard ?? true,
      alarmTopic: props.alarmTopic,
    });
    this.intake = intake;
    this.agentDesk = agentDesk;
    this.matchCalls = matchCalls;
    this.sweepAgents = sweepAgents;
  }

  /**
   * Adds the stack outputs that the `freshq` command uses to find this queue: `freshq agents --stack <name>`. A
   * stack can have the outputs of only one agents' queue.
   */
  exportOutputs(): void {
    const outputs: Outputs<AgentOutputName> = {
      AgentTableName: [this.table.tableName, 'Agents, their queues and their calls'],
      CallQueueUrl: [this.intake.queue.queueUrl, 'Send calls to this queue'],
      AssignmentTopicArn: [this.assignmentTopic.topicArn, 'Topic to which assignments are published'],
      AgentDeskFunctionName: [
        this.agentDesk.function.functionName,
        'Executes commands about agents and calls',
      ],
      CallDeadLetterQueueUrl: [
        this.intake.deadLetters.queueUrl,
        'Expired and undeliverable calls, kept for 14 days',
      ],
    };
    addOutputs(this, outputs);
  }

  /** Allows a principal to invoke `agent-desk`, and nothing else. */
  grantDesk(grantee: IGrantable): Grant {
    return grantInvoking(this.agentDesk.function, grantee);
  }

  /** Allows a principal to send calls to the call queue, and nothing else. */
  grantEnqueueCall(grantee: IGrantable): Grant {
    return this.intake.grantSend(grantee);
  }
}
