import * as setting from '../../shared/setting';

/**
 * Traces of tasks in AWS X-Ray, and active tracing of the functions that record them. `docs/how-to/traces.md` shows
 * their content. X-Ray bills each sampled task as one trace, and each invocation that Lambda samples. The trace adds 85
 * bytes to the task's item.
 */
export interface TraceSettings {
  /**
   * Share of new tasks to trace, from 0 to 1. With 0, X-Ray shows only the requests made by invocations that Lambda
   * samples.
   * @default 0.01
   */
  readonly sampledTasks?: number;
}

/** Defaults and ranges of {@link TraceSettings}. */
export const TRACES = {
  sampledTasks: setting.share(0.01),
} as const satisfies setting.Declarations<TraceSettings>;
