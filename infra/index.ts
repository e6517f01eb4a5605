/**
 * Queues for any CDK app: a newest-first task queue, `new LifoQueue(this, 'queue', { runner: TaskRunner.http({ url })
 * })`, and a queue that assigns calls to agents, `new AgentQueue(this, 'agents')`.
 */

export { AgentQueue, type AgentQueueProps } from './agents/agent-queue';
export type {
  AgentAlarmSettings,
  AgentOrder,
  AgentSettings,
  CallSettings,
  Dimension,
  PartialAgentQueueSettings,
} from './agents/settings';
export type { IQueueFunction, IQueueIntake, IQueueObservability } from './shared/queue-parts';
export type { LogOptions, NetworkSettings } from './shared/rust-function';
export type { SimulatedLoad, SimulationSettings } from './tasks/functions/create-tasks';
export { LifoQueue, type LifoQueueProps } from './tasks/lifo-queue';
export type { ITaskRunner } from './tasks/runners/binding';
export type { HttpRunnerProps } from './tasks/runners/http';
export {
  type HeaderAuthProps,
  HttpAuth,
  type IHttpAuth,
  type SigV4AuthProps,
} from './tasks/runners/http-auth';
export type { SimulatedRates } from './tasks/runners/rates';
export type { RustRunnerProps } from './tasks/runners/rust';
export type { SimulatedRunnerProps } from './tasks/runners/simulated';
export { TaskRunner } from './tasks/runners/task-runner';
export type { PartialQueueSettings } from './tasks/settings';
export type { AlarmSettings } from './tasks/settings/alarms';
export type { AdmissionSettings, IngestSettings, ProvisionedPollers } from './tasks/settings/ingest';
export type {
  BreakerSettings,
  CodelSettings,
  GroupSettings,
  ProcessingSettings,
  TaskOrder,
} from './tasks/settings/processing';
export { StreamBatching, type StreamSettings } from './tasks/settings/stream';
export type { TaskSettings } from './tasks/settings/tasks';
export type { TraceSettings } from './tasks/settings/traces';
export { ShedQueue, type ShedQueueProps } from './tasks/shed-queue';
