import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RustFunction } from '../../shared/rust-function';
import { FunctionSchedule } from '../../shared/schedule';
import { expiriesOf, type QueueSettings } from '../settings';
import { TASKS_ONLY } from '../task-table';
import type { TaskWiring } from './task-wiring';

/** Simulated tasks that `create-tasks` creates at regular intervals. */
export interface SimulatedLoad {
  /** Interval between rounds, in whole minutes. */
  readonly every: Duration;
  /** Number of tasks per round. */
  readonly tasks: number;
}

/** Settings for simulated tasks. */
export interface SimulationSettings {
  /**
   * Simulated tasks at regular intervals.
   * @default - none; only the event `{"simulate":{"count":N}}` creates simulated tasks
   */
  readonly load?: SimulatedLoad;
}

export interface CreateTasksProps extends TaskWiring {
  /**
   * @default - `create-tasks` rejects `{"simulate":…}`
   */
  readonly simulation?: SimulationSettings;
}

/** Validates and inserts tasks. Its response lists the tasks that were created, already existed, or failed. */
export class CreateTasks extends RustFunction<'create-tasks'> {
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
      // Lambda's default number of retries. Retries prevent lost tasks and never create a task with an id twice.
      async: { retryAttempts: 2, maxEventAge: Duration.hours(1) },
    });
    // A newer state of a key updates the older state's item.
    this.allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [table.table.tableArn], TASKS_ONLY);
    if (simulation?.load !== undefined) {
      this.load = new FunctionSchedule(this, 'load', {
        target: this,
        every: simulation.load.every,
        description: 'Creates simulated tasks, to try out the queue',
        event: { simulate: { count: simulation.load.tasks } },
      });
    }
  }
}

export function createTasksSettings(settings: QueueSettings, simulation: boolean) {
  return { create: expiriesOf(settings), simulation, traces: settings.traces };
}
