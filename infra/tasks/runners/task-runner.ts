import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITaskRunner } from './binding';
import { HttpRunner, type HttpRunnerProps } from './http';
import { LambdaRunner } from './lambda';
import { RustRunner, type RustRunnerProps } from './rust';
import { SimulatedRunner, type SimulatedRunnerProps } from './simulated';

/** The kinds of task runner. */
export const TaskRunner = {
  /**
   * POSTs each task as JSON, with an `Idempotency-Key`. 2xx: the task succeeded. 408, 429 and 503: the downstream is
   * *busy*, until `Retry-After` if given. 401, 403, 404 and 3xx: the downstream *rejects* us; after several distinct
   * tasks the queue pauses. Other 4xx: the task failed. Any other answer or none: the downstream is *unavailable*, and
   * the task is retried.
   */
  http: (props: HttpRunnerProps): ITaskRunner => new HttpRunner(props),

  /**
   * Invokes a function of yours, in any language, and waits for its reply.
   *
   * @param fn may be an alias or a version
   */
  lambda: (fn: IFunction): ITaskRunner => new LambdaRunner(fn),

  /** Simulates a downstream that runs `capacity` tasks at once, each for `duration`, and is *busy* for further ones. */
  simulated: (props: SimulatedRunnerProps = {}): ITaskRunner => new SimulatedRunner(props),

  /** Replaces this package's `process-tasks` with your own binary, which has a runner written in Rust. */
  rust: (props: RustRunnerProps): ITaskRunner => new RustRunner(props),
} as const;
