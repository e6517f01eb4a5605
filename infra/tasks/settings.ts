import { Duration } from 'aws-cdk-lib';
import { type Resolved, withDefaults } from '../shared/setting';
import { ALARMS, type AlarmSettings } from './settings/alarms';
import { type IngestSettings, type ResolvedIngestSettings, resolveIngestSettings } from './settings/ingest';
import { BREAKER, type BreakerSettings, PROCESSING, type ProcessingSettings } from './settings/processing';
import { STREAM, type StreamSettings } from './settings/stream';
import { TASKS, type TaskSettings } from './settings/tasks';
import { TRACES, type TraceSettings } from './settings/traces';

/** All settings of a queue, with the defaults filled in. */
export interface QueueSettings {
  readonly tasks: Resolved<TaskSettings, typeof TASKS>;
  readonly processing: Resolved<Omit<ProcessingSettings, 'breaker'>, typeof PROCESSING> & {
    readonly breaker: Required<BreakerSettings>;
  };
  readonly stream: Required<StreamSettings>;
  readonly alarms: Required<AlarmSettings>;
  readonly ingest?: ResolvedIngestSettings;
  readonly traces?: Required<TraceSettings>;
}

/** Settings of a queue, by group, as specified by the user. */
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
   * How Lambda reads the table's stream for `trigger`.
   * @default - the defaults of each setting
   */
  readonly stream?: StreamSettings;
  /**
   * Alarm thresholds.
   * @default - the defaults of each setting
   */
  readonly alarms?: AlarmSettings;
  /**
   * The ingest queue, an SQS queue in front of the table. `{}` creates one with all defaults.
   * @default - none
   */
  readonly ingest?: IngestSettings;
  /**
   * Traces of sampled tasks in AWS X-Ray. `{}` samples one task in a hundred.
   * @default - none
   */
  readonly traces?: TraceSettings;
}

/** Fills in the defaults. An explicit `undefined` is treated as omitted. */
export function resolveSettings(given: PartialQueueSettings): QueueSettings {
  const tasks = withDefaults(TASKS, given.tasks);
  const stream = withDefaults(STREAM, given.stream);
  const ingest = resolveIngestSettings(given.ingest ?? {});
  return {
    tasks,
    processing: {
      ...withDefaults(PROCESSING, given.processing),
      breaker: withDefaults(BREAKER, given.processing?.breaker),
    },
    stream,
    alarms: {
      oldestPending: Duration.seconds(
        Math.max(1, Math.floor(0.8 * tasks.defaultTtl.toSeconds({ integral: false }))),
      ),
      streamDelay: stream.batchWindow.plus(Duration.minutes(1)),
      ingestDelay: ingest.visibilityTimeout.plus(Duration.minutes(1)),
      ...withDefaults(ALARMS, given.alarms),
    },
    ...(given.ingest && { ingest }),
    ...(given.traces && { traces: withDefaults(TRACES, given.traces) }),
  };
}

/** Returns the maximum expiry of tasks with keys: the shorter retention, since settled tasks store the key's order. */
export function keyTtl({ successRetention, failureRetention }: QueueSettings['tasks']): Duration {
  return successRetention.toMilliseconds() < failureRetention.toMilliseconds()
    ? successRetention
    : failureRetention;
}

export function expiriesOf({ tasks, processing }: QueueSettings) {
  const { defaultTtl, maxTtl } = tasks;
  const groups = processing.groups === undefined ? undefined : true;
  return { defaultTtl, keyTtl: keyTtl(tasks), maxTtl, order: processing.order, groups };
}

/** Returns the maximum expiry of any task if the settings guarantee one, otherwise `undefined`. */
export function expiryBound({ tasks, processing }: QueueSettings): Duration | undefined {
  // With 'oldest-key-first', a key keeps its position, so its `taskCreated` can be older than its state.
  if (processing.order === 'oldest-key-first' || tasks.allowDirectWrites) return undefined;
  return tasks.maxTtl;
}
