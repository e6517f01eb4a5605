import type { QueueTopic } from '../../shared/queue-topic';
import type { LogSettings } from '../../shared/rust-function';
import type { QueueSettings } from '../settings';
import type { TaskTable } from '../task-table';

/** Resources and settings that the functions of a task queue share. */
export interface TaskWiring {
  readonly table: TaskTable;
  /** The topic for tail calls, which `process-tasks` publishes and `trigger` receives. */
  readonly triggerTopic: QueueTopic;
  /** The topic for notifications that invoke `process-tasks`. */
  readonly processTasksTopic: QueueTopic;
  readonly settings: QueueSettings;
  readonly logs: LogSettings;
}
