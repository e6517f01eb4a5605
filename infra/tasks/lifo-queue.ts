import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { alarmTopicProblems } from '../lambda/alarms/alarm-topic';
import type { ErrorAlarm } from '../lambda/alarms/errors';
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

/** Props of {@link LifoQueue}. The settings of `tasks`, `processing`, `stream`, `ingest` and `alarms` have defaults one by one. */
export interface LifoQueueProps extends PartialQueueSettings {
  /** What a task does: `TaskRunner.http`, `.lambda`, `.rust` or `.simulated`. */
  readonly runner: ITaskRunner;
  /**
   * The fate of the table, the work queues and the logs when the stack is deleted. RETAIN keeps resources that were in
   * use; see `docs/how-to/operate.md` on failed deployments.
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
   * Lets `create-tasks` create simulated tasks. Not for production.
   * @default - no simulation
   */
  readonly simulation?: SimulationSettings;
  /**
   * The load this queue is meant for, in tasks per second, sustained: synthesis warns above the limit of one
   * index partition.
   * @default - unknown; no warning
   */
  readonly expectedTasksPerSecond?: number;
  /**
   * The topic that alarms go to. CloudWatch must be allowed to publish there.
   * @default - none; the console shows the alarms
   */
  readonly alarmTopic?: ITopic;
  /**
   * Whether the queue has a CloudWatch dashboard. CloudWatch bills 3 USD a month for each dashboard of an account beyond
   * the first three. The saved queries cost nothing and are always there.
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
   * An EventBridge bus in the queue's region that gets an event of each task that succeeded or failed, at least once, without
   * the payload. See `docs/how-to/task-events.md`.
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
   * The tasks; see {@link grantPut}. Any writer's conditional put of `taskId`, `taskStatus` and `taskCreated` is a task, unless
   * `tasks.allowDirectWrites` is false. Its stream has the two readers that DynamoDB allows.
   */
  readonly table: Table;
  /** Tail calls; a notification here makes the queue look for work. */
  readonly triggerTopic: Topic;
  /** Wake-ups of `process-tasks`. */
  readonly processTasksTopic: Topic;
  /** Puts tasks into the queue; see {@link grantCreate}. */
  readonly createTasks: CreateTasks;
  /** Requests wake-ups. */
  readonly trigger: Trigger;
  /** Processes tasks. */
  readonly processTasks: ProcessTasks;
  /** Finds what was lost. */
  readonly sweepTasks: SweepTasks;
  /** Counts what expired. */
  readonly countShed: CountShed;
  /** The queue in front of the table, if `ingest` asks for one. Its `grantSend` lets a principal send tasks. */
  readonly ingest?: TaskIngest;
  /** Writes its messages as tasks. */
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
      // The rule's messages have keys: a release before keys would reject them, or lose the newer state of a running key.
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

  /** More than one error in five minutes: one alone may be DynamoDB's, and the retry succeeds. */
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

  /** Lets a principal put tasks into the queue: by invoking `create-tasks`, and in no other way. */
  grantCreate(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [this.createTasks.function.functionArn],
    });
  }

  /**
   * Lets a principal put tasks into the table itself, alone or in a transaction, and do nothing else to it. The queue's
   * own items stay out of its reach, unlike with `table.grantWriteData`, which lets it overwrite the control item.
   * Every put needs the condition `attribute_not_exists(taskId)`: IAM cannot demand it.
   *
   * Throws if `tasks.allowDirectWrites` is false.
   */
  grantPut(grantee: IGrantable): Grant {
    if (!this.allowDirectWrites) {
      throw new Error(
        `${this.node.path} promises by tasks.allowDirectWrites = false that only create-tasks and ingest-tasks put tasks into its table. Remedy: use grantCreate, or set tasks.allowDirectWrites to true.`,
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
