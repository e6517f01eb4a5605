import { Duration } from 'aws-cdk-lib';
import type { Problem } from './problem';
import type { QueueSettings } from './settings';

/** How often `sweep-tasks` looks for lost wake-ups and leases that ran out. */
export const SWEEP_INTERVAL = Duration.minutes(1);

/** Lambda waits this long before the first retry of an asynchronous invocation, twice as long before the second. */
const FIRST_ASYNC_RETRY_WAIT_MS = 60_000;

/** Sustained tasks per second beyond which one index partition (1,000 writes/s) no longer suffices. */
export const SUSTAINED_TASKS_PER_SECOND = 500;

/** Tasks that create-tasks takes or makes up in one event, at most. */
const MOST_SIMULATED_TASKS = 10_000;

/** Every rule the settings break; empty if they can work. */
export function settingsProblems(settings: QueueSettings): Problem[] {
  return [
    ...rangeProblems(settings),
    ...turnProblems(settings),
    ...leaseProblems(settings),
    ...asyncProblems(settings),
    ...taskProblems(settings),
  ];
}

function turnProblems({ processing }: QueueSettings): Problem[] {
  const problems: Problem[] = [];
  const needed = ms(processing.turn) + ms(processing.taskTimeout) + ms(processing.deadlineMargin);
  if (needed > ms(processing.functionTimeout)) {
    problems.push({
      setting: 'processing.functionTimeout',
      rule: `turn (${text(processing.turn)}) + taskTimeout (${text(processing.taskTimeout)}) + deadlineMargin (${text(processing.deadlineMargin)}) = ${seconds(needed)} is more than the function's timeout of ${text(processing.functionTimeout)}: Lambda would kill runs that started within the turn`,
      remedy: `raise functionTimeout to at least ${seconds(needed)} (Lambda allows 900 s), or shorten turn, taskTimeout or deadlineMargin`,
    });
  }
  if (ms(processing.indexLag) >= ms(processing.turn)) {
    problems.push({
      setting: 'processing.indexLag',
      rule: `the wait for the index (${text(processing.indexLag)}) fills the whole turn (${text(processing.turn)}), so an empty queue would call itself for ever`,
      remedy: 'make indexLag shorter than turn; 2 s is ample',
    });
  }
  return problems;
}

function leaseProblems({ processing }: QueueSettings): Problem[] {
  const problems: Problem[] = [];
  const needed = 3 * ms(processing.heartbeat);
  if (needed > ms(processing.processorLease)) {
    problems.push({
      setting: 'processing.processorLease',
      rule: `three heartbeats of ${text(processing.heartbeat)} do not fit into a lease of ${text(processing.processorLease)}, so two lost renewals would end a healthy turn`,
      remedy: `lengthen processorLease to at least ${seconds(needed)}, or shorten heartbeat`,
    });
  }
  if (ms(processing.clockSkew) + ms(processing.heartbeat) >= ms(processing.processorLease)) {
    problems.push({
      setting: 'processing.clockSkew',
      rule: `a heartbeat (${text(processing.heartbeat)}) and the clock skew (${text(processing.clockSkew)}) use up the lease (${text(processing.processorLease)}), so the lease could run out before its renewal`,
      remedy: 'lengthen processorLease, or lower clockSkew (AWS clocks differ by far less than 2 s)',
    });
  }
  if (processing.retryAttempts > 0 && ms(processing.processorLease) > FIRST_ASYNC_RETRY_WAIT_MS) {
    problems.push({
      setting: 'processing.processorLease',
      rule: `a lease of ${text(processing.processorLease)} outlives the minute that Lambda waits before it retries, so the retry of a processor that died would find its own dead lease and fail too`,
      remedy: 'shorten processorLease to at most 60 s',
    });
  }
  if (ms(processing.notificationMarker) > SWEEP_INTERVAL.toMilliseconds()) {
    problems.push({
      setting: 'processing.notificationMarker',
      rule: `a lost notification would hold others back for ${text(processing.notificationMarker)}, longer than the sweep's interval of ${text(SWEEP_INTERVAL)}`,
      remedy: 'shorten notificationMarker to at most 60 s; 10 s is ample',
    });
  }
  return problems;
}

function asyncProblems({ processing }: QueueSettings): Problem[] {
  const attempts = processing.retryAttempts;
  if (attempts < 1 || attempts > 2) return [];
  const waits = attempts === 1 ? FIRST_ASYNC_RETRY_WAIT_MS : 3 * FIRST_ASYNC_RETRY_WAIT_MS;
  const needed = waits + attempts * ms(processing.functionTimeout);
  if (needed <= ms(processing.maxEventAge)) return [];
  return [
    {
      setting: 'processing.maxEventAge',
      rule: `${text(processing.maxEventAge)} is too short for retryAttempts = ${attempts}: Lambda waits ${seconds(waits)} before it retries, and an attempt may take the function's timeout of ${text(processing.functionTimeout)}, so the event would be discarded before its last retry`,
      remedy: `raise maxEventAge to at least ${seconds(needed)}, or set retryAttempts to 0 (the sweep wakes the queue again)`,
    },
  ];
}

function taskProblems({ tasks }: QueueSettings): Problem[] {
  const problems: Problem[] = [];
  if (ms(tasks.retryBase) > ms(tasks.retryMax)) {
    problems.push({
      setting: 'tasks.retryMax',
      rule: `the longest backoff (${text(tasks.retryMax)}) is shorter than the first (${text(tasks.retryBase)})`,
      remedy: 'raise retryMax or lower retryBase',
    });
  }
  if (tasks.maxTtl !== undefined && ms(tasks.maxTtl) < ms(tasks.defaultTtl)) {
    problems.push({
      setting: 'tasks.maxTtl',
      rule: `the longest expiry a task may name (${text(tasks.maxTtl)}) is shorter than the default (${text(tasks.defaultTtl)})`,
      remedy: 'raise maxTtl or lower defaultTtl',
    });
  }
  return problems;
}

function rangeProblems({ tasks, processing, stream }: QueueSettings): Problem[] {
  const { maxTtl } = tasks;
  return [
    wholeSeconds('tasks.defaultTtl', tasks.defaultTtl, 1),
    maxTtl && wholeSeconds('tasks.maxTtl', maxTtl, 1),
    wholeSeconds('tasks.successRetention', tasks.successRetention, 0),
    wholeSeconds('tasks.failureRetention', tasks.failureRetention, 0),
    integer('tasks.maxAttempts', tasks.maxAttempts, 1, 1_000),
    integer('tasks.maxBusyReturns', tasks.maxBusyReturns, 0, 100_000),
    duration('processing.turn', processing.turn, 1),
    duration('processing.taskTimeout', processing.taskTimeout, 1),
    duration('processing.heartbeat', processing.heartbeat, 1),
    duration('processing.processorLease', processing.processorLease, 1),
    duration('processing.pause', processing.pause, 1),
    wholeSeconds('processing.functionTimeout', processing.functionTimeout, 1, 900, "Lambda's limit"),
    wholeSeconds('processing.maxEventAge', processing.maxEventAge, 60, 21_600, "Lambda's limit"),
    integer('processing.memorySize', processing.memorySize, 128, 10_240, "Lambda's limit"),
    integer('processing.slots', processing.slots, 1, 1_000),
    integer(
      'processing.reservedConcurrency',
      processing.reservedConcurrency,
      1,
      1_000,
      'with none, Lambda would throttle every notification and no task would run',
    ),
    integer('processing.retryAttempts', processing.retryAttempts, 0, 2, "Lambda's limit"),
    integer('processing.maxIdleTurns', processing.maxIdleTurns, 1, 100_000),
    integer('stream.batchSize', stream.batchSize, 1, 10_000, "Lambda's limit for DynamoDB streams"),
    wholeSeconds('stream.batchWindow', stream.batchWindow, 0, 300, "Lambda's limit"),
    integer('stream.retryAttempts', stream.retryAttempts, 0, 10_000, "Lambda's limit"),
    wholeSeconds('stream.maxRecordAge', stream.maxRecordAge, 60, 604_800, "Lambda's limit"),
  ].filter((problem) => problem !== undefined);
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

/** A problem unless `value` is an integer from `min` to `max`. */
export function integer(
  setting: string,
  value: number,
  min: number,
  max: number,
  why?: string,
): Problem | undefined {
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  const reason = why === undefined ? '' : ` (${why})`;
  return {
    setting,
    rule: `${value} is not a whole number from ${min} to ${max}${reason}`,
    remedy: `choose a whole number from ${min} to ${max}`,
  };
}

/** A problem unless `value` is whole seconds from `min` to `max`. */
export function wholeSeconds(
  setting: string,
  value: Duration,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
  why?: string,
): Problem | undefined {
  const problem = integer(setting, ms(value) / 1_000, min, max, why);
  if (problem === undefined) return undefined;
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min} s` : `${min} s to ${max} s`;
  const reason = why === undefined ? '' : ` (${why})`;
  return {
    setting,
    rule: `${text(value)} is not a whole number of seconds in the range ${range}${reason}`,
    remedy: `choose whole seconds, ${range}`,
  };
}

function duration(setting: string, value: Duration, minMs: number): Problem | undefined {
  if (ms(value) >= minMs) return undefined;
  return { setting, rule: `${text(value)} leaves no time at all`, remedy: `choose at least ${minMs} ms` };
}

function ms(value: Duration): number {
  return value.toMilliseconds();
}

function seconds(millis: number): string {
  return `${millis / 1_000} s`;
}

function text(value: Duration): string {
  return seconds(ms(value));
}
