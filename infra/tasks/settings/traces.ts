import * as setting from '../../lambda/setting';

/**
 * Traces of tasks in AWS X-Ray. `docs/how-to/traces.md` shows what they contain. X-Ray bills each sampled task as a
 * trace. The trace adds 85 bytes to the task's item.
 */
export interface TraceSettings {
  /**
   * The share of new tasks that have a trace, from 0 to 1. With 0, X-Ray shows only the requests of the invocations
   * that Lambda samples.
   * @default 0.01
   */
  readonly sampledTasks?: number;
}

/** The defaults and the ranges of {@link TraceSettings}. */
export const TRACES = {
  sampledTasks: setting.share(0.01),
} as const satisfies setting.Declarations<TraceSettings>;
