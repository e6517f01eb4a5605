import { Duration } from 'aws-cdk-lib';
import { type Problem, problemIf, type Warning } from '../shared/problem';
import { LONGEST_TIMEOUT_S, ms, seconds, text } from '../shared/ranges';
import { formerWarnings, rangeProblems } from '../shared/setting';
import { ingestProblems } from './ingest/rules';
import { keyTtl, type PartialQueueSettings, type QueueSettings } from './settings';
import { ALARMS } from './settings/alarms';
import { INGEST } from './settings/ingest';
import { BREAKER, CODEL, GROUPS, PROCESSING } from './settings/processing';
import { STREAM } from './settings/stream';
import { TASKS } from './settings/tasks';
import { TRACES } from './settings/traces';

export const SWEEP_INTERVAL = Duration.minutes(1);

/** How long Lambda gathers TTL deletions before it invokes `count-shed`. The count is not urgent. */
export const SHED_WINDOW = Duration.seconds(10);

/** Time after which Lambda retries a failed asynchronous invocation. */
const RETRY_WAIT = Duration.minutes(1);

/** Returns how long Lambda keeps an asynchronous event of a function, so that it can retry it once. */
export function maxEventAge(functionTimeout: Duration): Duration {
  return Duration.seconds(Math.max(300, functionTimeout.plus(RETRY_WAIT).toSeconds()));
}

/** Returns the problems with the settings, or an empty list if they are valid. */
export function settingsProblems(settings: QueueSettings): Problem[] {
  return [
    ...rangeProblems('tasks', TASKS, settings.tasks),
    ...rangeProblems('processing', PROCESSING, settings.processing),
    ...rangeProblems('processing.codel', CODEL, settings.processing.codel ?? {}),
    ...rangeProblems('processing.groups', GROUPS, settings.processing.groups ?? {}),
    ...rangeProblems('stream', STREAM, settings.stream),
    ...rangeProblems('alarms', ALARMS, settings.alarms),
    ...rangeProblems('traces', TRACES, settings.traces ?? {}),
    ...turnProblems(settings),
    ...leaseProblems(settings),
    ...rateProblems(settings),
    ...breakerProblems(settings),
    ...overloadProblems(settings),
    ...taskProblems(settings),
    ...keyProblems(settings),
    ...alarmProblems(settings),
    ...(settings.ingest === undefined ? [] : ingestProblems(settings.ingest, settings.alarms)),
  ];
}

/** Returns a warning per given setting that has no effect any longer. */
export function formerSettings({ processing, stream, ingest }: PartialQueueSettings): Warning[] {
  return [
    ...formerWarnings('processing', PROCESSING, processing),
    ...formerWarnings('processing.breaker', BREAKER, processing?.breaker),
    ...formerWarnings('stream', STREAM, stream),
    ...formerWarnings('ingest', INGEST, ingest),
  ];
}

function turnProblems({ processing }: QueueSettings): Problem[] {
  const needed = ms(processing.turn) + ms(processing.taskTimeout) + ms(processing.deadlineMargin);
  const longest = seconds(LONGEST_TIMEOUT_S * 1_000);
  const shorten = 'shorten turn or taskTimeout';
  return [
    ...problemIf(
      needed > ms(processing.functionTimeout),
      'processing.functionTimeout',
      `turn (${text(processing.turn)}) + taskTimeout (${text(processing.taskTimeout)}) + ${text(processing.deadlineMargin)} = ${seconds(needed)} is more than the function's timeout of ${text(processing.functionTimeout)}: Lambda would end runs that started within the turn`,
      needed > LONGEST_TIMEOUT_S * 1_000
        ? `${shorten}: the sum can be at most ${longest}, the maximum timeout of a function`
        : `raise functionTimeout to at least ${seconds(needed)} (at most ${longest}), or ${shorten}`,
    ),
    ...problemIf(
      ms(processing.indexLag) >= ms(processing.turn),
      'processing.indexLag',
      `the wait for the index (${text(processing.indexLag)}) takes the whole turn (${text(processing.turn)}), so an empty queue would publish tail calls indefinitely`,
      'make indexLag shorter than turn; 2 s is enough',
    ),
  ];
}

function leaseProblems({ processing }: QueueSettings): Problem[] {
  const needed = 3 * ms(processing.heartbeat);
  return [
    ...problemIf(
      needed > ms(processing.processorLease),
      'processing.processorLease',
      `three heartbeats of ${text(processing.heartbeat)} do not fit into a lease of ${text(processing.processorLease)}, so two lost renewals would end a healthy turn`,
      `lengthen processorLease to at least ${seconds(needed)}, or shorten heartbeat`,
    ),
    ...problemIf(
      ms(processing.clockSkew) + ms(processing.heartbeat) >= ms(processing.processorLease),
      'processing.processorLease',
      `a heartbeat (${text(processing.heartbeat)}) and the clock skew (${text(processing.clockSkew)}) use up the lease (${text(processing.processorLease)}), so the lease could expire before its renewal`,
      'lengthen processorLease',
    ),
    ...problemIf(
      ms(processing.processorLease) > ms(RETRY_WAIT),
      'processing.processorLease',
      `a lease of ${text(processing.processorLease)} lasts longer than the minute that Lambda waits before it retries, so the retry of a crashed processor would find the old lease still live and fail too`,
      'shorten processorLease to at most 60 s',
    ),
  ];
}

function taskProblems({ tasks }: QueueSettings): Problem[] {
  return [
    ...problemIf(
      ms(tasks.retryBase) > ms(tasks.retryMax),
      'tasks.retryMax',
      `the maximum backoff (${text(tasks.retryMax)}) is shorter than the first (${text(tasks.retryBase)})`,
      'raise retryMax or lower retryBase',
    ),
    ...problemIf(
      tasks.maxTtl !== undefined && ms(tasks.maxTtl) < ms(tasks.defaultTtl),
      'tasks.maxTtl',
      `the maximum expiry of a task (${tasks.maxTtl && text(tasks.maxTtl)}) is shorter than the default (${text(tasks.defaultTtl)})`,
      'raise maxTtl or lower defaultTtl',
    ),
    ...problemIf(
      !tasks.allowDirectWrites && tasks.maxTtl === undefined,
      'tasks.allowDirectWrites',
      'with allowDirectWrites = false index reads start at now - maxTtl, but maxTtl is not set',
      'set maxTtl to the longest expiry of a task, or omit allowDirectWrites',
    ),
  ];
}

/** Returns a problem if the settings imply that tasks have keys, but the default expiry is too long for a key. */
function keyProblems({ tasks, processing, ingest }: QueueSettings): Problem[] {
  const user = ingest?.iotPresence
    ? 'ingest.iotPresence'
    : processing.order === 'oldest-key-first'
      ? 'processing.order'
      : undefined;
  const longest = keyTtl(tasks);
  if (user === undefined) return [];
  return problemIf(
    ms(tasks.defaultTtl) > ms(longest),
    user,
    `by default a task with a key expires after defaultTtl (${text(tasks.defaultTtl)}), but settled tasks are kept for only ${text(longest)}: the queue would then forget the order of the key, and could run an older state after a newer one`,
    'raise tasks.successRetention and tasks.failureRetention to at least tasks.defaultTtl, or lower defaultTtl',
  );
}

function rateProblems({ processing: { ratePerSecond, burst } }: QueueSettings): Problem[] {
  return problemIf(
    !(burst === undefined || ratePerSecond !== undefined),
    'processing.burst',
    'a burst has no effect without a rate limit',
    'set ratePerSecond too, or omit burst; concurrency limits the running tasks',
  );
}

function breakerProblems({ processing: { breaker, groups } }: QueueSettings): Problem[] {
  return problemIf(
    groups?.breaker === true && !breaker.enabled,
    'processing.groups.breaker',
    'each group would have its own circuit breaker, but processing.breaker.enabled is false',
    'omit processing.breaker.enabled, or omit processing.groups.breaker',
  );
}

function overloadProblems({ tasks, processing }: QueueSettings): Problem[] {
  const { codel, targetLatency, turn, taskTimeout } = processing;
  const latency =
    targetLatency === undefined
      ? []
      : problemIf(
          ms(targetLatency) >= ms(taskTimeout),
          'processing.targetLatency',
          `every run ends within taskTimeout (${text(taskTimeout)}), so no run takes longer than ${text(targetLatency)} and the concurrency would never decrease`,
          'make targetLatency shorter than taskTimeout',
        );
  if (codel === undefined) return latency;
  return [
    ...latency,
    ...problemIf(
      processing.order === 'oldest-key-first',
      'processing.codel',
      "under overload codel starts only new tasks, but the order 'oldest-key-first' starts the key that has waited longest",
      "omit codel, or choose the order 'newest-first'",
    ),
    ...problemIf(
      ms(codel.interval) >= ms(turn),
      'processing.codel.interval',
      `each turn of ${text(turn)} starts a new interval, so no turn would detect an overload that lasts ${text(codel.interval)}`,
      'make the interval shorter than turn',
    ),
    ...problemIf(
      ms(codel.interval) < 2 * ms(codel.target),
      'processing.codel.interval',
      `an interval of ${text(codel.interval)} is shorter than twice the target of ${text(codel.target)}: a short burst would count as an overload`,
      `make the interval at least ${seconds(2 * ms(codel.target))}; five times the target is usual`,
    ),
    ...problemIf(
      2 * ms(codel.target) >= ms(tasks.defaultTtl),
      'processing.codel.target',
      `tasks expire after ${text(tasks.defaultTtl)}, before their age is twice the target of ${text(codel.target)}, so codel would have no effect`,
      'make twice the target shorter than tasks.defaultTtl',
    ),
  ];
}

function alarmProblems({ tasks, stream, alarms }: QueueSettings): Problem[] {
  const windows = [
    ['stream.batchWindow', stream.batchWindow],
    ["count-shed's window", SHED_WINDOW],
  ] as const;
  return [
    ...problemIf(
      !tasks.allowDirectWrites && tasks.maxTtl !== undefined && ms(alarms.oldestPending) >= ms(tasks.maxTtl),
      'alarms.oldestPending',
      `no pending task becomes ${text(alarms.oldestPending)} old, because the longest expiry is ${tasks.maxTtl && text(tasks.maxTtl)}: the alarm could never fire`,
      'make oldestPending shorter than tasks.maxTtl',
    ),
    ...problemIf(
      !(alarms.failedShare >= 0 && alarms.failedShare < 1),
      'alarms.failedShare',
      `${alarms.failedShare} is not a share from 0 to below 1: the alarm fires above it, and the share of failed tasks is never above 1`,
      'choose a number from 0 to below 1 (0.5: half of the tasks that ended)',
    ),
    ...windows.flatMap(([name, window]) =>
      problemIf(
        ms(alarms.streamDelay) <= ms(window),
        'alarms.streamDelay',
        `${name} of ${text(window)} alone can delay records by ${text(alarms.streamDelay)}: the alarm would fire although nothing is wrong`,
        `make streamDelay longer than ${text(window)}, for example by a minute`,
      ),
    ),
  ];
}
