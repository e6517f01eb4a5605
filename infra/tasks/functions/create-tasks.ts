import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type LogSettings, RustFunction } from '../../lambda/rust-function';
import { FunctionSchedule } from '../../lambda/schedule';
import { expiriesOf, type QueueSettings } from '../settings';
import { TASKS_ONLY, type TaskTable } from '../task-table';

/** A load that `create-tasks` makes up at intervals. */
export interface SimulatedLoad {
  /** How often: whole minutes. */
  readonly every: Duration;
  /** Tasks each time. */
  readonly tasks: number;
}

/** Whether `create-tasks` makes up tasks of its own. */
export interface SimulationSettings {
  /**
   * Simulated tasks at regular intervals.
   * @default - only on `{"simulate":{"count":N}}`
   */
  readonly load?: SimulatedLoad;
}

/** Props of {@link CreateTasks}. */
export interface CreateTasksProps {
  readonly table: TaskTable;
  readonly settings: QueueSettings;
  readonly logs: LogSettings;
  /**
   * @default - `create-tasks` rejects `{"simulate":…}`
   */
  readonly simulation?: SimulationSettings;
}

/** Validates and inserts tasks; answers which were created, which existed and which failed. */
export class CreateTasks extends RustFunction<'create-tasks'> {
  /** The schedule that makes up a load, if there is one. */
  readonly load?: FunctionSchedule;

  constructor(scope: Construct, id: string, props: CreateTasksProps) {
    const { table, settings, simulation } = props;
    super(scope, id, {
      binary: 'create-tasks',
      description: 'Validates tasks and puts them into the queue',
      environment: {
        TASK_TABLE_NAME: table.table.tableName,
      },
      settings: createTasksSettings(settings, simulation !== undefined),
      timeout: Duration.seconds(30),
      memorySize: 256,
      logs: props.logs,
      // Lambda's own number of retries: a repeated task with an id is recognised, a lost one is not.
      async: { retryAttempts: 2, maxEventAge: Duration.hours(1) },
    });
    this.allow(['dynamodb:PutItem'], [table.table.tableArn]);
    // A newer state of a key is an update of the older one.
    this.allow(['dynamodb:UpdateItem'], [table.table.tableArn], TASKS_ONLY);
    if (simulation?.load !== undefined) {
      this.load = new FunctionSchedule(this, 'load', {
        target: this,
        every: simulation.load.every,
        description: 'Makes up tasks, to try the queue out',
        event: { simulate: { count: simulation.load.tasks } },
      });
    }
  }
}

/** What `create-tasks` is set up with. */
export function createTasksSettings(settings: QueueSettings, simulation: boolean) {
  return { create: expiriesOf(settings), simulation, traces: settings.traces };
}
