/**
 * Queues for any CDK app: newest-first tasks, `new LifoQueue(this, 'queue', { runner: TaskRunner.http({ url }) })`, and
 * calls that meet agents, `new AgentQueue(this, 'agents')`.
 */
export type {
  AgentAlarmSettings,
  AgentOrder,
  AgentSettings,
  CallSettings,
  Dimension,
  PartialAgentQueueSettings,
} from './agent-settings';
export type { AlarmSettings } from './alarm-settings';
export { AgentQueue, type AgentQueueProps } from './constructs/agent-queue';
export type { SimulatedLoad, SimulationSettings } from './constructs/create-tasks';
export { LifoQueue, type LifoQueueProps } from './constructs/lifo-queue';
export type { NetworkSettings } from './constructs/rust-function';
export { ShedQueue, type ShedQueueProps } from './constructs/shed-queue';
export type { TaskIngest } from './constructs/task-ingest';
export { type ITaskRunner, type RunnerBinding, TaskRunner } from './constructs/task-runner';
export type { IngestSettings, ProvisionedPollers } from './ingest-settings';
export { InvalidConfiguration, type Problem } from './problem';
export type { HttpRunnerProps } from './runners/http';
export { type HeaderAuthProps, HttpAuth, type IHttpAuth, type SigV4AuthProps } from './runners/http-auth';
export type { RustRunnerProps } from './runners/rust';
export type { SimulatedRunnerProps } from './runners/simulated';
export {
  type BreakerSettings,
  type PartialQueueSettings,
  type ProcessingSettings,
  StreamBatching,
  type StreamSettings,
  type TaskSettings,
} from './settings';
