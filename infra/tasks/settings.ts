import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../lambda/defined';
import { defaultsOf } from '../lambda/setting';
import { ALARMS, type AlarmSettings } from './settings/alarms';
import { type IngestSettings, type ResolvedIngestSettings, resolveIngestSettings } from './settings/ingest';
import { BREAKER, type BreakerSettings, PROCESSING, type ProcessingSettings } from './settings/processing';
import { STREAM, type StreamSettings } from './settings/stream';
import { TASKS, type TaskSettings } from './settings/tasks';
import { TRACES, type TraceSettings } from './settings/traces';

/** `T`, where all but `K` is known. */
type RequiredExcept<T, K extends keyof T> = Required<Omit<T, K>> & Pick<T, K>;

/** Every setting of a queue, defaults filled in. */
export interface QueueSettings {
  readonly tasks: RequiredExcept<TaskSettings, 'maxTtl'>;
  readonly processing: RequiredExcept<
    Omit<ProcessingSettings, 'breaker'>,
    'ratePerSecond' | 'burst' | 'codel' | 'targetLatency'
  > & {
    readonly breaker: Required<BreakerSettings>;
  };
  readonly stream: Required<StreamSettings>;
  readonly alarms: Required<AlarmSettings>;
  readonly ingest?: ResolvedIngestSettings;
  readonly traces?: Required<TraceSettings>;
}

/** The parts of a queue's settings as a user gives them. */
export interface PartialQueueSettings {
  /**
   * Expiry, retries and retention of tasks.
   * @default - the defaults of each setting
   */
  readonly tasks?: TaskSettings;
  /**
   * How `process-tasks` runs tasks.
   * @default - the defaults of each setting
   */
  readonly processing?: ProcessingSettings;
  /**
   * How the table's stream reaches `trigger`.
   * @default - the defaults of each setting
   */
  readonly stream?: StreamSettings;
  /**
   * When the alarms ring.
   * @default - the defaults of each setting
   */
  readonly alarms?: AlarmSettings;
  /**
   * An SQS queue in front of the table; `{}` sets up one with all defaults.
   * @default - none
   */
  readonly ingest?: IngestSettings;
  /**
   * Traces of sampled tasks in AWS X-Ray; `{}` samples one task in a hundred.
   * @default - none
   */
  readonly traces?: TraceSettings;
}

/** 8 minutes, but always before the idle bound ends the tail calls. */
function defaultPauseAfter(maxIdleTurns: number, turn: Duration): Duration {
  const bound = Math.floor(0.8 * maxIdleTurns * turn.toSeconds({ integral: false }));
  return Duration.seconds(Math.max(1, Math.min(480, bound)));
}

/** Fills in the defaults. An explicit `undefined` counts as not given. */
export function resolveSettings(given: PartialQueueSettings): QueueSettings {
  const tasks = { ...defaultsOf(TASKS), ...definedOf(given.tasks) };
  const stream = { ...defaultsOf(STREAM), ...definedOf(given.stream) };
  const processing = { ...defaultsOf(PROCESSING), ...definedOf(given.processing) };
  const ingest = resolveIngestSettings(given.ingest ?? {});
  return {
    tasks,
    processing: {
      ...processing,
      breaker: {
        ...defaultsOf(BREAKER),
        pauseAfter: defaultPauseAfter(processing.maxIdleTurns, processing.turn),
        ...definedOf(given.processing?.breaker),
      },
    },
    stream,
    alarms: {
      ...defaultsOf(ALARMS),
      oldestPending: Duration.seconds(
        Math.max(1, Math.floor(0.8 * tasks.defaultTtl.toSeconds({ integral: false }))),
      ),
      streamDelay: stream.batchWindow.plus(Duration.minutes(1)),
      ingestDelay: ingest.visibilityTimeout.plus(Duration.minutes(1)),
      ...definedOf(given.alarms),
    },
    ...(given.ingest && { ingest }),
    ...(given.traces && { traces: { ...defaultsOf(TRACES), ...definedOf(given.traces) } }),
  };
}

/** The longest expiry of a task with a key: as long as its order is remembered, by the settled task. */
export function keyTtl({ successRetention, failureRetention }: QueueSettings['tasks']): Duration {
  return successRetention.toMilliseconds() < failureRetention.toMilliseconds()
    ? successRetention
    : failureRetention;
}

/** What every function that creates tasks is set up with. */
export function expiriesOf({ tasks, processing }: QueueSettings) {
  const { defaultTtl, maxTtl } = tasks;
  return { defaultTtl, keyTtl: keyTtl(tasks), maxTtl, order: processing.order };
}

/** The longest expiry of any task, where the settings promise that no task lives longer. */
export function expiryBound({ tasks, processing }: QueueSettings): Duration | undefined {
  // A key that keeps its place may be older than its state.
  if (processing.order === 'oldest-key-first' || tasks.allowDirectWrites) return undefined;
  return tasks.maxTtl;
}
