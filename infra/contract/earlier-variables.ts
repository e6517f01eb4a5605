import { AGENT_QUEUE } from './agents';

/** Variables of the previous release, by the path of the setting in `SETTINGS_<FUNCTION>` of the task queue. */
const TASKS: Readonly<Record<string, string>> = {
  'breaker.maxReturns': 'MAX_UNAVAILABLE_RETURNS',
  'breaker.pauseAfterMs': 'BREAKER_PAUSE_AFTER_SECONDS',
  clockSkewMs: 'CLOCK_SKEW_MS',
  'codel.intervalMs': 'CODEL_INTERVAL_MS',
  'codel.targetMs': 'CODEL_TARGET_MS',
  concurrency: 'TASK_SLOTS',
  deadlineMarginMs: 'DEADLINE_MARGIN_MS',
  defaultTtlMs: 'DEFAULT_TTL_SECONDS',
  expiryBoundMs: 'EXPIRY_BOUND_SECONDS',
  failureRetentionMs: 'FAILURE_RETENTION_SECONDS',
  heartbeatMs: 'HEARTBEAT_MS',
  indexLagMs: 'INDEX_LAG_MS',
  keyTtlMs: 'KEY_TTL_SECONDS',
  maxAttempts: 'MAX_ATTEMPTS',
  maxBusyReturns: 'MAX_BUSY_RETURNS',
  maxIdleTurns: 'MAX_IDLE_TURNS',
  maxTtlMs: 'MAX_TTL_SECONDS',
  notificationMarkerMs: 'NOTIFICATION_MARKER_MS',
  order: 'TASK_ORDER',
  pauseMs: 'PAUSE_MS',
  processorLeaseMs: 'PROCESSOR_LEASE_MS',
  'rate.burst': 'RATE_BURST',
  'rate.perSecond': 'RATE_PER_SECOND',
  'retention.failureMs': 'FAILURE_RETENTION_SECONDS',
  'retention.successMs': 'SUCCESS_RETENTION_SECONDS',
  'retry.baseMs': 'RETRY_BASE_MS',
  'retry.maxMs': 'RETRY_MAX_MS',
  simulation: 'SIMULATION_ENABLED',
  targetLatencyMs: 'TARGET_LATENCY_MS',
  taskTimeoutMs: 'TASK_TIMEOUT_MS',
  turnMs: 'TURN_MS',
  'visibility.baseMs': 'VISIBILITY_BASE_SECONDS',
  'visibility.maxMs': 'VISIBILITY_MAX_SECONDS',
  writeParallelism: 'WRITE_PARALLELISM',
};

/** The same for the agents' queue. */
const AGENTS: Readonly<Record<string, string>> = {
  answerWithinMs: 'ANSWER_WITHIN_SECONDS',
  callLeaseMs: 'CALL_LEASE_SECONDS',
  contentionWindow: 'CONTENTION_WINDOW',
  dimensions: 'DIMENSIONS',
  maxWaitMs: 'MAX_WAIT_SECONDS',
  order: 'QUEUE_ORDER',
  seed: 'SEED_ENABLED',
};

/** Groups of settings whose names are not part of the paths above. */
const UNNAMED = ['create', 'ingest', 'sweep'];

/**
 * Returns the settings of a function as the variables of the previous release. CloudFormation changes the variables of
 * a function before its code, so code of the previous release reads these for some seconds (docs/how-to/upgrade.md).
 * Delete this file one release later.
 */
export function earlierVariables(binary: string, settings: object): Record<string, string> {
  const names = binary in AGENT_QUEUE.environment ? AGENTS : TASKS;
  const variables: Record<string, string> = {};
  const collect = (group: object, prefix: string) => {
    for (const [key, value] of Object.entries(group)) {
      const name = names[prefix + key];
      if (name !== undefined) variables[name] = earlierValue(name, value);
      else if (key === 'overloadReachMs') variables.CODEL_TARGET_MS = String(value / 2);
      else if (typeof value === 'object') collect(value, UNNAMED.includes(key) ? '' : `${key}.`);
    }
  };
  collect(settings, '');
  // The previous release requires this variable even without a circuit breaker, where it has no effect.
  if (binary === 'process-tasks') variables.MAX_UNAVAILABLE_RETURNS ??= '500';
  return variables;
}

function earlierValue(name: string, value: unknown): string {
  if (name.endsWith('_SECONDS')) return String(Number(value) / 1_000);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
