import { type Problem, problemIf } from '../../shared/problem';
import { integer, ms, seconds, text } from '../../shared/ranges';
import { rangeProblems } from '../../shared/setting';
import type { AlarmSettings } from '../settings/alarms';
import { ADMISSION, INGEST, MOST_HELD, type ResolvedIngestSettings } from '../settings/ingest';

/** Maximum Lambda batch size without a batching window. */
const UNGATHERED_BATCH = 10;

/** Number of concurrent batches with which Lambda starts if no maximum concurrency is set. */
const FIRST_BATCHES = 5;

/**
 * Maximum first visibility timeout of a message that was not written because DynamoDB throttled it, in milliseconds:
 * `POSTPONED` in `crates/lifo-queue/src/ingest/backpressure.rs`.
 */
export const POSTPONED_MS = 30_000;

/** Returns the problems with the settings of an ingest queue, or an empty list if they are valid. */
export function ingestProblems(ingest: ResolvedIngestSettings, alarms: Required<AlarmSettings>): Problem[] {
  const problems = [
    ...batchProblems(ingest),
    ...concurrencyProblems(ingest),
    ...pollerProblems(ingest),
    ...visibilityProblems(ingest),
    ...retentionProblems(ingest),
  ];
  return [
    ...rangeProblems('ingest', INGEST, ingest),
    ...rangeProblems('ingest.admission', ADMISSION, ingest.admission ?? {}),
    ...preferenceProblems(ingest),
    ...problems.map((problem) => ({ ...problem, setting: `ingest.${problem.setting}` })),
    ...alarmProblems(ingest, alarms),
  ];
}

function preferenceProblems({ admission }: ResolvedIngestSettings): Problem[] {
  if (admission === undefined) return [];
  return problemIf(
    !(admission.prefer in MOST_HELD),
    'ingest.admission.prefer',
    `${admission.prefer} is not a preference`,
    "choose 'complete' or 'fresh', or omit it",
  );
}

function batchProblems(ingest: ResolvedIngestSettings): Problem[] {
  const { batchSize, batchWindow, functionTimeout, deadlineMargin, expectedWritesPerSecond } = ingest;
  const window = problemIf(
    batchSize > UNGATHERED_BATCH && ms(batchWindow) < 1_000,
    'batchWindow',
    `${text(batchWindow)} is too short for batchSize = ${batchSize}: Lambda gathers more than ${UNGATHERED_BATCH} messages only in a window of at least 1 s`,
    `set batchWindow to at least 1 s, or batchSize to at most ${UNGATHERED_BATCH}`,
  );
  const working = ms(functionTimeout) - ms(deadlineMargin);
  const writable = Math.floor((working / 1_000) * expectedWritesPerSecond);
  // Each rule assumes that the previous rules hold.
  const [first = []] = [
    problemIf(
      !(expectedWritesPerSecond > 0),
      'expectedWritesPerSecond',
      `${expectedWritesPerSecond} is not a rate`,
      'give the tasks that one invocation writes per second, more than 0, or omit it',
    ),
    problemIf(
      working > 0 && batchSize > writable,
      'batchSize',
      `${batchSize} messages are too many for one invocation: in ${seconds(working)} (functionTimeout - ${text(deadlineMargin)}) it writes ${writable} at expectedWritesPerSecond = ${expectedWritesPerSecond}, and SQS would redeliver the rest on every invocation`,
      `lower batchSize to at most ${writable}, or raise functionTimeout, or expectedWritesPerSecond if you have measured more`,
    ),
  ].filter(({ length }) => length > 0);
  return [...window, ...first];
}

function concurrencyProblems(ingest: ResolvedIngestSettings): Problem[] {
  const { maxConcurrency, reservedConcurrency, provisionedPollers } = ingest;
  const needed = maxConcurrency ?? FIRST_BATCHES;
  const why =
    maxConcurrency === undefined
      ? `the ${FIRST_BATCHES} batches with which Lambda starts`
      : `maxConcurrency = ${maxConcurrency}`;
  return [
    ...problemIf(
      maxConcurrency !== undefined && provisionedPollers !== undefined,
      'maxConcurrency',
      'Lambda does not accept a maximum concurrency together with provisioned pollers',
      'omit one of the two; maximumPollers is the limit of provisioned mode',
    ),
    ...problemIf(
      reservedConcurrency !== undefined && reservedConcurrency < needed,
      'reservedConcurrency',
      `${reservedConcurrency} is less than ${why}: Lambda would receive messages that it cannot process, and throttling alone would move valid ones to the dead-letter queue`,
      `raise reservedConcurrency to at least ${needed}, or omit it: maxConcurrency or maximumPollers limits the invocations`,
    ),
  ];
}

function pollerProblems({ provisionedPollers }: ResolvedIngestSettings): Problem[] {
  if (provisionedPollers === undefined) return [];
  const { minimumPollers, maximumPollers } = provisionedPollers;
  const why = "Lambda's limit for SQS";
  return [
    ...integer('provisionedPollers.minimumPollers', minimumPollers, 2, 200, why),
    ...integer('provisionedPollers.maximumPollers', maximumPollers, 2, 10_000, why),
    ...problemIf(
      minimumPollers > maximumPollers,
      'provisionedPollers.maximumPollers',
      `${maximumPollers} is less than minimumPollers = ${minimumPollers}`,
      'raise maximumPollers or lower minimumPollers',
    ),
  ];
}

function visibilityProblems(ingest: ResolvedIngestSettings): Problem[] {
  const { visibilityBase, visibilityMax } = ingest;
  return problemIf(
    ms(visibilityBase) > ms(visibilityMax),
    'visibilityMax',
    `the longest time until a message is redelivered (${text(visibilityMax)}) is shorter than the first (${text(visibilityBase)})`,
    'raise visibilityMax or lower visibilityBase',
  );
}

function retentionProblems(ingest: ResolvedIngestSettings): Problem[] {
  const { retention, deadLetterRetention, visibilityTimeout, maxReceiveCount } = ingest;
  const held = heldBeforeDeadLetter(ingest);
  return [
    ...problemIf(
      ms(deadLetterRetention) <= ms(retention),
      'deadLetterRetention',
      `${text(deadLetterRetention)} is not longer than retention (${text(retention)}): SQS counts both from when a message was first sent, so the dead-letter queue would delete some messages as soon as they arrive`,
      'make deadLetterRetention longer than retention; 14 days is the maximum',
    ),
    ...problemIf(
      ms(retention) <= ms(visibilityTimeout),
      'retention',
      `SQS would delete a message after ${text(retention)} while it is hidden for ${text(visibilityTimeout)}: one failed attempt would lose it`,
      `raise retention above ${seconds(held)}, the time that all maxReceiveCount = ${maxReceiveCount} attempts take`,
    ),
    ...problemIf(
      ms(retention) > ms(visibilityTimeout) && ms(retention) <= held,
      'retention',
      `${maxReceiveCount} attempts hide a message for ${seconds(held)} in total, and SQS deletes it after ${text(retention)}: it would be lost before it reached the dead-letter queue`,
      `raise retention above ${seconds(held)}, or lower maxReceiveCount, functionTimeout or visibilityMax`,
    ),
  ];
}

/**
 * Returns the maximum time, in milliseconds, that attempts hide a message before it moves to the dead-letter queue. If
 * the function fails, an attempt hides the message for the visibility timeout. If it can't write the message, the
 * attempt hides it during the invocation and the backoff. The backoff doubles with each receive up to visibilityMax,
 * and starts at 30 s if DynamoDB throttles the write.
 */
function heldBeforeDeadLetter(ingest: ResolvedIngestSettings): number {
  const { visibilityTimeout, visibilityBase, visibilityMax, functionTimeout, maxReceiveCount } = ingest;
  const first = Math.max(ms(visibilityBase), POSTPONED_MS);
  return Array.from({ length: maxReceiveCount }, (_, attempt) => {
    const backoff = Math.min(first * 2 ** attempt, ms(visibilityMax));
    return Math.max(ms(visibilityTimeout), ms(functionTimeout) + backoff);
  }).reduce((sum, each) => sum + each, 0);
}

function alarmProblems(ingest: ResolvedIngestSettings, alarms: Required<AlarmSettings>): Problem[] {
  return problemIf(
    ms(alarms.ingestDelay) <= ms(ingest.visibilityTimeout),
    'alarms.ingestDelay',
    `one failed attempt alone hides a message for ${text(ingest.visibilityTimeout)}: the alarm would fire although the retry may succeed`,
    `make ingestDelay longer than ${text(ingest.visibilityTimeout)}, for example by a minute, or omit it`,
  );
}
