import type { Duration } from 'aws-cdk-lib';
import type { Problem } from '../lambda/problem';
import { integer, ms, text } from '../lambda/ranges';
import type { QueueSettings } from './settings';

/** Sustained tasks per second beyond which one index partition (1,000 writes/s) no longer suffices. */
const SUSTAINED_TASKS_PER_SECOND = 500;

/** Tasks that create-tasks takes or makes up in one event, at most. */
const MOST_SIMULATED_TASKS = 10_000;

/** Something that works, but hardly as it is meant. */
export interface LoadWarning {
  /** By which a user may acknowledge it. */
  readonly id: string;
  /** What is wrong and what to do. */
  readonly text: string;
}

/** What an expected load, if it is known, asks too much of. */
export function loadWarnings(
  tasksPerSecond: number | undefined,
  { processing: { ratePerSecond } }: QueueSettings,
): LoadWarning[] {
  if (tasksPerSecond === undefined) return [];
  const warnings: LoadWarning[] = [];
  if (tasksPerSecond > SUSTAINED_TASKS_PER_SECOND) {
    warnings.push({
      id: 'freshq:sustained-load',
      text: `expectedTasksPerSecond = ${tasksPerSecond} is beyond what one queue sustains: a status is one index partition of 1,000 writes per second, and PENDING and TAKEN each cost two writes a task, so about ${SUSTAINED_TASKS_PER_SECOND} tasks per second. Split the load over several LifoQueue constructs, or expect DynamoDB to throttle sustained peaks.`,
    });
  }
  if (ratePerSecond !== undefined && tasksPerSecond > ratePerSecond) {
    warnings.push({
      id: 'freshq:rate-limit',
      text: `expectedTasksPerSecond = ${tasksPerSecond} is more than processing.ratePerSecond = ${ratePerSecond} lets start: the newest tasks run, the others expire undone. Raise ratePerSecond if that is not what you want.`,
    });
  }
  return warnings;
}

/** What cannot work about a simulated load, if there is one. */
export function simulationProblems(load: { every: Duration; tasks: number } | undefined): Problem[] {
  if (load === undefined) return [];
  const problems = [integer('simulation.load.tasks', load.tasks, 1, MOST_SIMULATED_TASKS)];
  if (ms(load.every) < 60_000 || ms(load.every) % 60_000 !== 0) {
    problems.push({
      setting: 'simulation.load.every',
      rule: `${text(load.every)} is not whole minutes, which is as fine as EventBridge Scheduler counts`,
      remedy: 'choose whole minutes, at least one',
    });
  }
  return problems.filter((problem) => problem !== undefined);
}

/** What cannot be meant by an expected load. */
export function loadProblems(tasksPerSecond: number | undefined): Problem[] {
  if (tasksPerSecond === undefined || tasksPerSecond > 0) return [];
  return [
    {
      setting: 'expectedTasksPerSecond',
      rule: `${tasksPerSecond} is not a rate`,
      remedy: 'give the sustained rate you expect, more than 0, or leave it out',
    },
  ];
}
