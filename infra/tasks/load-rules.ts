import type { Duration } from 'aws-cdk-lib';
import { type Problem, problemIf, type Warning } from '../shared/problem';
import { integer, ms, text } from '../shared/ranges';
import type { QueueSettings } from './settings';

/**
 * Tasks per second that one queue sustains in the worst and best case. A task costs two writes of PENDING, two of TAKEN
 * and one of its final status. An index partition accepts 1,000 writes/s. In the worst case, one partition has all
 * three keys; in the best case, PENDING and TAKEN have their own partitions (`docs/explanation/scaling.md`).
 */
const SUSTAINED_TASKS_PER_SECOND = { least: 200, most: 500 };

/** Maximum number of tasks that `create-tasks` accepts or simulates in one event. */
const MOST_SIMULATED_TASKS = 10_000;

/** Returns warnings about an expected load, or an empty list if the load is unknown. */
export function loadWarnings(
  tasksPerSecond: number | undefined,
  { processing: { ratePerSecond } }: QueueSettings,
): Warning[] {
  if (tasksPerSecond === undefined) return [];
  const warnings: Warning[] = [];
  const { least, most } = SUSTAINED_TASKS_PER_SECOND;
  if (tasksPerSecond > least) {
    warnings.push({
      id: 'freshq:sustained-load',
      text: `expectedTasksPerSecond = ${tasksPerSecond} is more than one queue can always sustain: ${least} to ${most} tasks per second. A partition of the index takes 1,000 writes per second, and each task costs five. DynamoDB decides whether the keys of PENDING, TAKEN and SUCCESS share a partition. Split the load over several LifoQueue constructs, or expect DynamoDB to throttle sustained peaks.`,
    });
  }
  if (ratePerSecond !== undefined && tasksPerSecond > ratePerSecond) {
    warnings.push({
      id: 'freshq:rate-limit',
      text: `expectedTasksPerSecond = ${tasksPerSecond} is more than processing.ratePerSecond = ${ratePerSecond}: more tasks arrive than may start, so some expire. Raise ratePerSecond if all of them should run.`,
    });
  }
  return warnings;
}

export function simulationProblems(load: { every: Duration; tasks: number } | undefined): Problem[] {
  if (load === undefined) return [];
  return [
    ...integer('simulation.load.tasks', load.tasks, 1, MOST_SIMULATED_TASKS),
    ...problemIf(
      ms(load.every) < 60_000 || ms(load.every) % 60_000 !== 0,
      'simulation.load.every',
      `${text(load.every)} is not a whole number of minutes, the resolution of EventBridge Scheduler`,
      'choose whole minutes, at least one',
    ),
  ];
}

export function loadProblems(tasksPerSecond: number | undefined): Problem[] {
  return problemIf(
    tasksPerSecond !== undefined && !(tasksPerSecond > 0),
    'expectedTasksPerSecond',
    `${tasksPerSecond} is not a rate`,
    'give the sustained rate you expect, more than 0, or omit it',
  );
}
