import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { IngestOutputName, OutputName } from '../contract/tasks';
import { alarmTopicProblems, connectAlarms } from '../shared/alarms/alarm-topic';
import type { ErrorAlarm } from '../shared/alarms/errors';
import { grantInvoking, grantPutting } from '../shared/grants';
import { addOutputs, type Outputs } from '../shared/outputs';
import { reject } from '../shared/problem';
import type { IQueueFunction, IQueueIntake, IQueueObservability } from '../shared/queue-parts';
import { QueueTopic } from '../shared/queue-topic';
import type { LogOptions, LogSettings, RustFunction } from '../shared/rust-function';
import { CountShed, eventBusProblems, shedQueueProblems } from './functions/count-shed';
import { CreateTasks, type SimulationSettings } from './functions/create-tasks';
import { IngestTasks } from './functions/ingest-tasks';
import { ProcessTasks } from './functions/process-tasks';
import { SweepTasks } from './functions/sweep-tasks';
import type { TaskWiring } from './functions/task-wiring';
import { Trigger } from './functions/trigger';
import { groupWarnings } from './group-rules';
import { healthWarnings } from './health-rules';
import { TaskIngest } from './ingest/task-ingest';
import { loadProblems, loadWarnings, simulationProblems } from './load-rules';
import { Observability } from './observability';
import { formerSettings, settingsProblems } from './rules';
import type { ITaskRunner, RunnerDescription } from './runners/binding';
import { type PartialQueueSettings, type QueueSettings, resolveSettings } from './settings';
import { TASKS_ONLY, TaskTable } from './task-table';

/** Props of {@link LifoQueue}. Each setting within a group (`tasks`, `processing`, …) has its own default. */
export interface LifoQueueProps extends PartialQueueSettings {
  /** The code that runs each task: `TaskRunner.http`, `.lambda`, `.rust` or `.simulated`. */
  readonly runner: ITaskRunner;
  /**
   * Removal policy of the table, the work queues and the logs. With RETAIN, CloudFormation deletes these queues and
   * logs only if their first deployment fails (see "Failed deployments" in `docs/how-to/operate.md`).
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
   * Settings that let `create-tasks` create simulated tasks. Not for production.
   * @default - no simulation
   */
  readonly simulation?: SimulationSettings;
  /**
   * Expected sustained load, in tasks per second. Synthesis prints a warning above 200, the rate that one queue always
   * sustains, and above `processing.ratePerSecond`.
   * @default - unknown; no warning
   */
  readonly expectedTasksPerSecond?: number;
  /**
   * The topic that alarms publish to, in the queue's region. If it has a policy (for example from `enforceSSL`) or its
   * own KMS key, the queue adds a statement that lets CloudWatch publish. Synthesis rejects a topic that CloudWatch can't
   * publish to. The policies of an imported topic and an imported key must already allow it.
   * @default - none; alarms appear only in the CloudWatch console, and synthesis prints a warning
   */
  readonly alarmTopic?: ITopic;
  /**
   * Whether to create a CloudWatch dashboard for the queue. CloudWatch charges 3 USD per month for it. The free tier
   * covers three dashboards per account with up to 50 metrics each; this one has 83 with ingest. The saved queries are
   * free and are always created.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * A standard queue that receives each shed task (expired before it finished) as JSON, at least once. DynamoDB deletes
   * expired items within days, so a message can arrive late. freshq neither reads nor monitors this queue.
   * @default - none; shed tasks are only counted
   */
  readonly shedTasksTo?: IQueue;
  /**
   * An EventBridge bus in the queue's region. For each task that succeeds or fails, it receives an event without the
   * payload, at least once. See `docs/how-to/task-events.md`.
   * @default - none; no events are published
   */
  readonly taskEventsTo?: IEventBus;
}

/**
 * A newest-first task queue: create → table → stream → trigger → topic → process, a sweep for lost wake-ups and expired
 * leases, and a count of shed tasks.
 */
export class LifoQueue extends Construct {
  /**
   * The task table. Unless `tasks.allowDirectWrites` is false, any program can create a task with a conditional put of
   * `taskId`, `taskStatus` and `taskCreated`; see {@link grantPut}. Don't add a reader to the table's stream: it
   * already has two, the DynamoDB maximum.
   */
  readonly table: Table;
  /** The topic for tail calls. Each notification requests a wake-up. */
  readonly triggerTopic: Topic;
  /** The topic for notifications that invoke `process-tasks`. */
  readonly processTasksTopic: Topic;
  /** Function that validates tasks and writes them to the table; see {@link grantCreate}. */
  readonly createTasks: IQueueFunction;
  /** Function that requests wake-ups. */
  readonly trigger: IQueueFunction;
  /** Function that takes, runs and settles tasks. */
  readonly processTasks: IQueueFunction;
  /** Function that returns tasks with expired leases and replaces lost wake-ups. */
  readonly sweepTasks: IQueueFunction;
  /** Function that counts shed tasks and publishes events for finished tasks. */
  readonly countShed: IQueueFunction;
  /** The ingest queue, if `ingest` is set; see {@link grantSend}. */
  readonly ingest?: IQueueIntake;
  /** Function that writes messages from the ingest queue to the table as tasks, if `ingest` is set. */
  readonly ingestTasks?: IQueueFunction;
  /** Alarms, the dashboard and saved queries. */
  readonly observability: IQueueObservability;

  /**
   * The runner and all settings, for `freshq/testing`.
   * @internal
   */
  readonly _configured: { readonly runner: RunnerDescription; readonly settings: QueueSettings };

  constructor(scope: Construct, id: string, props: LifoQueueProps) {
    super(scope, id);
    const settings = resolveSettings(props);
    const { region } = Stack.of(this);
    reject(this.node.path, [
      ...settingsProblems(settings),
      ...props.runner._problems(settings, region),
      ...simulationProblems(props.simulation?.load),
      ...loadProblems(props.expectedTasksPerSecond),
      ...alarmTopicProblems(props.alarmTopic, region),
      ...shedQueueProblems(props.shedTasksTo, region),
      ...eventBusProblems(props.taskEventsTo, region),
    ]);
    const warnings = [
      ...loadWarnings(props.expectedTasksPerSecond, settings),
      ...groupWarnings(settings),
      ...healthWarnings(settings),
      ...formerSettings(props),
    ];
    for (const { id, text } of warnings) {
      Annotations.of(this).addWarningV2(id, text);
    }
    connectAlarms(this, props.alarmTopic);
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
    const runner = props.runner._bind(this);
    this._configured = { runner: runner.description, settings };
    const wiring: TaskWiring = { table, triggerTopic, processTasksTopic, settings, logs };

    const createTasks = new CreateTasks(this, 'create-tasks', { ...wiring, simulation: props.simulation });
    const trigger = new Trigger(this, 'trigger', wiring);
    const processTasks = new ProcessTasks(this, 'process-tasks', { ...wiring, runner });
    const sweepTasks = new SweepTasks(this, 'sweep-tasks', wiring);
    const { shedTasksTo, taskEventsTo } = props;
    const countShed = new CountShed(this, 'count-shed', { ...wiring, shedTasksTo, taskEventsTo });
    let ingest: TaskIngest | undefined;
    let ingestTasks: IngestTasks | undefined;
    if (settings.ingest !== undefined) {
      const own = { ...wiring, ingest: settings.ingest, shedTasksTo };
      ingest = new TaskIngest(this, 'ingest', {
        settings: settings.ingest,
        groups: settings.processing.groups !== undefined,
        removalPolicy,
      });
      ingestTasks = new IngestTasks(this, 'ingest-tasks', { ...own, intake: ingest });
      // The rule's messages have keys. Functions from a release without keys would reject them, or lose the newer state
      // of a running key. Therefore, CloudFormation updates the functions before it creates the rule.
      const readers = [createTasks, trigger, processTasks, sweepTasks, ingestTasks];
      ingest.iotPresence?.rule.node.addDependency(...readers.map((each) => each.function));
    }
    const functions = {
      'create-tasks': createTasks,
      ...(ingestTasks && { 'ingest-tasks': ingestTasks }),
      trigger,
      'process-tasks': processTasks,
      'sweep-tasks': sweepTasks,
      'count-shed': countShed,
    };
    this.observability = new Observability(this, 'observability', {
      table: table.table,
      settings,
      functions,
      streamReaders: { trigger, 'count-shed': countShed },
      loop: { trigger, 'process-tasks': processTasks },
      errors: taskErrorAlarms(functions, settings.alarms.createErrors),
      failureQueues: {
        'create-tasks-failures': createTasks.failures,
        'trigger-failures': trigger.failures,
        'trigger-undelivered': triggerTopic.undelivered,
        'process-tasks-failures': processTasks.failures,
        'process-tasks-undelivered': processTasksTopic.undelivered,
        'sweep-tasks-failures': sweepTasks.failures,
        'sweep-tasks-undelivered': sweepTasks.schedule.undelivered,
        'count-shed-failures': countShed.failures,
        ...(ingestTasks && { 'ingest-tasks-failures': ingestTasks.failures }),
        ...(ingest?.iotPresence && { 'iot-presence-failures': ingest.iotPresence.failures }),
        ...(createTasks.load && { 'load-undelivered': createTasks.load.undelivered }),
      },
      ingest,
      dashboard: props.dashboard ?? true,
      alarmTopic: props.alarmTopic,
    });

    this.table = table.table;
    this.triggerTopic = triggerTopic.topic;
    this.processTasksTopic = processTasksTopic.topic;
    this.createTasks = createTasks;
    this.trigger = trigger;
    this.processTasks = processTasks;
    this.sweepTasks = sweepTasks;
    this.countShed = countShed;
    this.ingest = ingest;
    this.ingestTasks = ingestTasks;
  }

  /**
   * Adds the stack outputs that the `freshq` command uses to find this queue: `freshq status --stack <name>`. A stack
   * can have the outputs of only one task queue.
   */
  exportOutputs(): void {
    const outputs: Outputs<OutputName> = {
      QueueTableName: [this.table.tableName, 'The task table'],
      TriggerTopicArn: [this.triggerTopic.topicArn, 'Topic whose notifications wake the queue'],
      ProcessTasksTopicArn: [
        this.processTasksTopic.topicArn,
        'Topic whose notifications start process-tasks',
      ],
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

  /**
   * Lets a principal create tasks by invoking `create-tasks`, and nothing else. A service can invoke it only on behalf
   * of this account, unless the principal has its own condition for the source.
   */
  grantCreate(grantee: IGrantable): Grant {
    return grantInvoking(this.createTasks.function, grantee);
  }

  /**
   * Lets a principal send tasks to the ingest queue, and nothing else. A service can send only on behalf of this
   * account, unless the principal has its own condition for the source.
   *
   * Throws if there is no ingest queue.
   */
  grantSend(grantee: IGrantable): Grant {
    if (this.ingest === undefined) {
      throw new Error(
        `${this.node.path} cannot grant sending: it has no ingest queue. Remedy: set ingest: {}, or use grantCreate.`,
      );
    }
    return this.ingest.grantSend(grantee);
  }

  /**
   * Lets a principal put tasks directly into the table, even in a transaction, and nothing else. The principal cannot
   * write the queue's own items; `table.grantWriteData` would let it overwrite the control item. Every put requires the
   * condition `attribute_not_exists(taskId)`, which IAM can't enforce.
   *
   * Throws for a service principal, and if `tasks.allowDirectWrites` is false.
   */
  grantPut(grantee: IGrantable): Grant {
    if (!this._configured.settings.tasks.allowDirectWrites) {
      throw new Error(
        `${this.node.path} cannot grant puts of tasks: with tasks.allowDirectWrites = false only create-tasks and ingest-tasks may write tasks to its table. Remedy: use grantCreate, or set tasks.allowDirectWrites to true.`,
      );
    }
    return grantPutting(this.table, grantee, TASKS_ONLY);
  }
}

/** Returns the error alarms. Most fire at the second error in five minutes, because DynamoDB can cause a single one. */
function taskErrorAlarms(
  functions: Readonly<Record<string, RustFunction>>,
  createErrors: number,
): Record<string, ErrorAlarm> {
  const creates = ([name]: [string, RustFunction]) => name === 'create-tasks' || name === 'ingest-tasks';
  const all = Object.entries(functions);
  const others = all.filter((entry) => !creates(entry));
  return {
    ...Object.fromEntries(others.map(([name, fn]) => [name, { of: { [name]: fn }, above: 1 }])),
    'create-tasks': { of: Object.fromEntries(all.filter(creates)), above: createErrors },
  };
}
