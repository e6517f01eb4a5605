import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { IngestOutputName, OutputName } from '../contract/tasks';
import { alarmTopicProblems, warnWithoutAlarmTopic } from '../lambda/alarms/alarm-topic';
import type { ErrorAlarm } from '../lambda/alarms/errors';
import { addOutputs, type Outputs } from '../lambda/outputs';
import { refuse } from '../lambda/problem';
import { QueueTopic } from '../lambda/queue-topic';
import type { LogSettings } from '../lambda/rust-function';
import { CountShed, eventBusProblems, shedQueueProblems } from './functions/count-shed';
import { CreateTasks, type SimulationSettings } from './functions/create-tasks';
import { IngestTasks } from './functions/ingest-tasks';
import { ProcessTasks } from './functions/process-tasks';
import { SweepTasks } from './functions/sweep-tasks';
import { Trigger } from './functions/trigger';
import { TaskIngest } from './ingest/task-ingest';
import { loadProblems, loadWarnings, simulationProblems } from './load-rules';
import { Observability } from './observability';
import { settingsProblems } from './rules';
import type { ITaskRunner } from './runners/binding';
import { type PartialQueueSettings, type QueueSettings, resolveSettings } from './settings';
import { TASKS_ONLY, TaskTable } from './task-table';

/** Props of {@link LifoQueue}. Within a group (`tasks`, `processing`, …) each setting has its own default. */
export interface LifoQueueProps extends PartialQueueSettings {
  /** The code that runs each task: `TaskRunner.http`, `.lambda`, `.rust` or `.simulated`. */
  readonly runner: ITaskRunner;
  /**
   * Removal policy of the table, the work queues and the logs. With RETAIN, CloudFormation deletes these queues and
   * logs only if their first deployment fails; see `docs/how-to/operate.md` on failed deployments.
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
   * @default - level INFO, kept for a month
   */
  readonly logs?: Partial<Pick<LogSettings, 'level' | 'retention'>>;
  /**
   * Lets `create-tasks` create simulated tasks. Not for production.
   * @default - no simulation
   */
  readonly simulation?: SimulationSettings;
  /**
   * The expected sustained load, in tasks per second. Synthesis warns above 200, which one queue always sustains, and
   * above `processing.ratePerSecond`.
   * @default - unknown; no warning
   */
  readonly expectedTasksPerSecond?: number;
  /**
   * The topic to which the alarms publish. Its policy must allow CloudWatch to publish.
   * @default - none; only the CloudWatch console shows the alarms, and synthesis warns
   */
  readonly alarmTopic?: ITopic;
  /**
   * Whether the queue has a CloudWatch dashboard. CloudWatch bills 3 USD a month for each dashboard of an account
   * beyond the first three. The saved queries cost nothing and are always there.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * A standard queue that receives each shed task (expired before it ended) as JSON, at least once. DynamoDB deletes
   * expired items within days, so the message may be late. freshq neither reads nor monitors this queue.
   * @default - none; shed tasks are only counted
   */
  readonly shedTasksTo?: IQueue;
  /**
   * An EventBridge bus in the queue's region. It gets an event for each task that succeeded or failed, at least once,
   * without the payload. See `docs/how-to/task-events.md`.
   * @default - none; there are no events
   */
  readonly taskEventsTo?: IEventBus;
}

/**
 * A newest-first task queue: create → table → stream → trigger → topic → process, a sweep for lost wake-ups and expired
 * leases, and a count of shed tasks.
 */
export class LifoQueue extends Construct {
  /**
   * The task table. Unless `tasks.allowDirectWrites` is false, any program can create a task by a conditional put of
   * `taskId`, `taskStatus` and `taskCreated`; see {@link grantPut}. Add no reader of the table's stream: it has the two
   * that DynamoDB allows.
   */
  readonly table: Table;
  /** The topic of the tail calls. Each notification requests a wake-up. */
  readonly triggerTopic: Topic;
  /** The topic of the notifications that invoke `process-tasks`. */
  readonly processTasksTopic: Topic;
  /** Validates tasks and writes them to the table; see {@link grantCreate}. */
  readonly createTasks: CreateTasks;
  /** Requests wake-ups. */
  readonly trigger: Trigger;
  /** Takes, runs and settles tasks. */
  readonly processTasks: ProcessTasks;
  /** Returns tasks with expired leases, and replaces lost wake-ups. */
  readonly sweepTasks: SweepTasks;
  /** Counts shed tasks, and publishes events of ended tasks. */
  readonly countShed: CountShed;
  /** The ingest queue, if `ingest` is set. Its `grantSend` lets a principal send tasks. */
  readonly ingest?: TaskIngest;
  /** Writes the messages of the ingest queue as tasks, if `ingest` is set. */
  readonly ingestTasks?: IngestTasks;
  /** Alarms, the dashboard and saved queries. */
  readonly observability: Observability;

  private readonly allowDirectWrites: boolean;

  constructor(scope: Construct, id: string, props: LifoQueueProps) {
    super(scope, id);
    const settings = resolveSettings(props);
    this.allowDirectWrites = settings.tasks.allowDirectWrites;
    refuse(this.node.path, [
      ...settingsProblems(settings),
      ...props.runner.problems(settings),
      ...simulationProblems(props.simulation?.load),
      ...loadProblems(props.expectedTasksPerSecond),
      ...alarmTopicProblems(props.alarmTopic),
      ...shedQueueProblems(props.shedTasksTo),
      ...eventBusProblems(props.taskEventsTo, Stack.of(this).region),
    ]);
    for (const { id, text } of loadWarnings(props.expectedTasksPerSecond, settings)) {
      Annotations.of(this).addWarningV2(id, text);
    }
    warnWithoutAlarmTopic(this, props.alarmTopic);
    const removalPolicy = props.removalPolicy ?? RemovalPolicy.RETAIN;
    const logs: LogSettings = {
      level: props.logs?.level ?? ApplicationLogLevel.INFO,
      retention: props.logs?.retention ?? RetentionDays.ONE_MONTH,
      removalPolicy,
    };

    const table = new TaskTable(this, 'task-table', {
      removalPolicy,
      deletionProtection: props.deletionProtection ?? true,
      pointInTimeRecovery: props.pointInTimeRecovery ?? true,
    });
    const triggerTopic = new QueueTopic(this, 'trigger-topic');
    const processTasksTopic = new QueueTopic(this, 'process-tasks-topic');
    const runner = props.runner.bind(this);
    const wiring = { table, triggerTopic, processTasksTopic, settings, logs };

    this.createTasks = new CreateTasks(this, 'create-tasks', { ...wiring, simulation: props.simulation });
    this.trigger = new Trigger(this, 'trigger', wiring);
    this.processTasks = new ProcessTasks(this, 'process-tasks', { ...wiring, runner });
    this.sweepTasks = new SweepTasks(this, 'sweep-tasks', wiring);
    const { shedTasksTo, taskEventsTo } = props;
    this.countShed = new CountShed(this, 'count-shed', { ...wiring, shedTasksTo, taskEventsTo });
    if (settings.ingest !== undefined) {
      const { ingest } = settings;
      this.ingest = new TaskIngest(this, 'ingest', { settings: ingest, removalPolicy });
      this.ingestTasks = new IngestTasks(this, 'ingest-tasks', {
        ...wiring,
        ingest,
        intake: this.ingest,
        shedTasksTo,
      });
      // The rule's messages have keys. Functions of a release without keys would reject them, or lose the newer state
      // of a running key. So CloudFormation updates the functions before it creates the rule.
      const { createTasks, trigger, processTasks, sweepTasks, ingestTasks } = this;
      const functions = [createTasks, trigger, processTasks, sweepTasks, ingestTasks];
      this.ingest.iotPresence?.rule.node.addDependency(...functions.map((each) => each.function));
    }
    this.observability = new Observability(this, 'observability', {
      table: table.table,
      settings,
      functions: {
        'create-tasks': this.createTasks,
        ...(this.ingestTasks && { 'ingest-tasks': this.ingestTasks }),
        trigger: this.trigger,
        'process-tasks': this.processTasks,
        'sweep-tasks': this.sweepTasks,
        'count-shed': this.countShed,
      },
      streamReaders: { trigger: this.trigger, 'count-shed': this.countShed },
      loop: { trigger: this.trigger, 'process-tasks': this.processTasks },
      errors: this.errorAlarms(settings),
      failureQueues: {
        'create-tasks-failures': this.createTasks.failures,
        'trigger-failures': this.trigger.failures,
        'trigger-undelivered': triggerTopic.undelivered,
        'process-tasks-failures': this.processTasks.failures,
        'process-tasks-undelivered': processTasksTopic.undelivered,
        'sweep-tasks-failures': this.sweepTasks.failures,
        'sweep-tasks-undelivered': this.sweepTasks.schedule.undelivered,
        'count-shed-failures': this.countShed.failures,
        ...(this.ingestTasks && { 'ingest-tasks-failures': this.ingestTasks.failures }),
        ...(this.ingest?.iotPresence && { 'iot-presence-failures': this.ingest.iotPresence.failures }),
        ...(this.createTasks.load && { 'load-undelivered': this.createTasks.load.undelivered }),
      },
      ingest: this.ingest,
      dashboard: props.dashboard ?? true,
      alarmTopic: props.alarmTopic,
    });

    this.table = table.table;
    this.triggerTopic = triggerTopic.topic;
    this.processTasksTopic = processTasksTopic.topic;
  }

  /** Most alarms ring at the second error in five minutes: DynamoDB may cause a single one, and its retry succeeds. */
  private errorAlarms({ alarms }: QueueSettings): Record<string, ErrorAlarm> {
    const { trigger, processTasks, sweepTasks, countShed, createTasks, ingestTasks } = this;
    return {
      trigger: { of: { trigger }, above: 1 },
      'process-tasks': { of: { 'process-tasks': processTasks }, above: 1 },
      'sweep-tasks': { of: { 'sweep-tasks': sweepTasks }, above: 1 },
      'count-shed': { of: { 'count-shed': countShed }, above: 1 },
      'create-tasks': {
        of: { 'create-tasks': createTasks, ...(ingestTasks && { 'ingest-tasks': ingestTasks }) },
        above: alarms.createErrors,
      },
    };
  }

  /**
   * Adds the outputs by which the command `freshq` finds this queue in its stack: `freshq status --stack <name>`. A
   * stack can have the outputs of one task queue.
   */
  exportOutputs(): void {
    const outputs: Outputs<OutputName> = {
      QueueTableName: [this.table.tableName, 'The task table'],
      TriggerTopicArn: [this.triggerTopic.topicArn, 'A notification here wakes the queue'],
      ProcessTasksTopicArn: [this.processTasksTopic.topicArn, 'Notifications that start process-tasks'],
      CreateTasksFunctionName: [this.createTasks.function.functionName, 'Creates tasks'],
      TriggerFunctionName: [this.trigger.function.functionName, 'Requests wake-ups'],
      ProcessTasksFunctionName: [this.processTasks.function.functionName, 'Processes the newest tasks first'],
    };
    addOutputs(this, outputs);
    if (this.ingest === undefined) return;
    const ingest: Outputs<IngestOutputName> = {
      IngestQueueUrl: [this.ingest.queue.queueUrl, 'Accepts tasks at any rate'],
      IngestDeadLetterQueueUrl: [
        this.ingest.deadLetters.queueUrl,
        'Invalid messages, and messages that could not be written',
      ],
    };
    addOutputs(this, ingest);
  }

  /** Lets a principal create tasks by invoking `create-tasks`, and nothing else. */
  grantCreate(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [this.createTasks.function.functionArn],
    });
  }

  /**
   * Lets a principal put tasks directly into the table, even in a transaction, and nothing else. The principal cannot
   * write the queue's own items; `table.grantWriteData` would let it overwrite the control item. Every put needs the
   * condition `attribute_not_exists(taskId)`, which IAM cannot enforce.
   *
   * Throws if `tasks.allowDirectWrites` is false.
   */
  grantPut(grantee: IGrantable): Grant {
    if (!this.allowDirectWrites) {
      throw new Error(
        `${this.node.path} cannot grant puts of tasks: with tasks.allowDirectWrites = false only create-tasks and ingest-tasks may write tasks to its table. Remedy: use grantCreate, or set tasks.allowDirectWrites to true.`,
      );
    }
    return Grant.addToPrincipal({
      grantee,
      actions: ['dynamodb:PutItem'],
      resourceArns: [this.table.tableArn],
      conditions: TASKS_ONLY,
    });
  }
}
