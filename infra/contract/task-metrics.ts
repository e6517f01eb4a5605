import { counter, type DeclaredMetric, gauge } from './declared-metric';

const CREATE = ['create-tasks', 'ingest-tasks'];
const PROCESS = ['process-tasks'];
const SWEEP = ['sweep-tasks'];

/** The metrics of a task queue. */
export const TASK_METRICS = {
  Taken: counter(PROCESS, 'tasks taken: each take starts a run'),
  Succeeded: counter(PROCESS, 'tasks that ended as SUCCESS'),
  Failed: counter([...PROCESS, ...SWEEP], 'tasks that ended as FAILURE: `freshq redrive` retries them'),
  Retried: counter(PROCESS, 'tasks returned after an attempt that counts'),
  Busy: counter(PROCESS, 'tasks returned because the downstream was busy'),
  Unavailable: counter(
    PROCESS,
    'tasks returned because the downstream was unavailable, without counting an attempt',
  ),
  Probes: counter(PROCESS, 'starts while the circuit breaker was open'),
  ConcurrencyLimit: gauge(
    PROCESS,
    'tasks that may run concurrently at the end of a turn; 1 while the circuit breaker is open',
  ),
  BreakerOpen: counter(PROCESS, 'turns that ended with an open circuit breaker'),
  OverloadedSeconds: counter(
    PROCESS,
    'time in which the queue was overloaded and only new tasks started',
    'Seconds',
  ),
  LostRaces: counter(
    PROCESS,
    'takes and settlements that failed because another process had changed the task first',
  ),
  EmptyPolls: counter(PROCESS, 'passes over the index that found no due task: a sign of spare capacity'),
  TailCalls: counter(PROCESS, 'turns that ended with a tail call: work remained'),
  QueuePaused: counter([...PROCESS, ...SWEEP], 'turns and sweeps that ended while the queue was paused'),
  IdleBoundReached: counter(
    PROCESS,
    'turns that made no tail call because too many consecutive turns settled nothing',
  ),
  TasksCreated: counter(CREATE, 'tasks created'),
  TasksDuplicate: counter(CREATE, 'tasks that existed already'),
  TasksSuperseded: counter(
    [...CREATE, ...PROCESS, ...SWEEP],
    'states of keys that a newer one replaced before they ended, or that arrived after a newer one',
  ),
  CreateFailed: counter(
    ['create-tasks'],
    'tasks that were not created; the response to the caller has the reasons',
  ),
  WakeUpsPublished: counter(['trigger', ...SWEEP], 'notifications to process-tasks, tail calls not included'),
  LeasesReturned: counter(SWEEP, 'tasks returned to PENDING after their lease expired: a process crashed'),
  LeasesFailed: counter(SWEEP, 'tasks that failed because the lease of their last attempt expired'),
  TasksAdopted: counter(SWEEP, 'tasks of direct writers whose `ttl` was set or corrected'),
  SweepErrors: counter(SWEEP, 'tasks that a sweep could not change; the next sweep tries again'),
  Sweeps: counter(SWEEP, 'complete sweeps: one per minute'),
  PendingTasks: gauge(SWEEP, 'pending tasks that have not expired; counted up to 10,000'),
  PendingTasksCapped: gauge(SWEEP, '1 if more tasks are pending than `PendingTasks` shows, else 0'),
  TakenTasks: gauge(SWEEP, 'running tasks, and tasks of a crashed process that the next sweep returns'),
  OldestPendingSeconds: gauge(
    SWEEP,
    'age of the oldest pending task, from its creation; 0 if none is pending',
    'Seconds',
  ),
  ShedTasks: counter(
    ['count-shed', 'ingest-tasks'],
    'tasks that expired before they ended, counted when DynamoDB deletes them or before they are written',
  ),
  TasksNotAdmitted: counter(
    ['ingest-tasks'],
    'tasks of a storm that admission shed before the first write; `ShedTasks` counts them, too',
  ),
  IngestRejected: counter(['ingest-tasks'], 'invalid tasks and messages, moved to the dead-letter queue'),
  IngestReturned: counter(
    ['ingest-tasks'],
    'messages to be redelivered, because their tasks could not be written in time',
  ),
} as const satisfies Readonly<Record<string, DeclaredMetric>>;
