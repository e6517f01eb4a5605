import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITaskRunner } from './binding';
import { HttpRunner, type HttpRunnerProps } from './http';
import { LambdaRunner } from './lambda';
import { RustRunner, type RustRunnerProps } from './rust';
import { SimulatedRunner, type SimulatedRunnerProps } from './simulated';

/** Chooses the task runner. */
export const TaskRunner = {
  /**
   * POSTs each task as JSON. 2xx is success; 408, 429 and 503 are *busy* and honour `Retry-After`; 401, 403,
   * 404 and 3xx pause the queue when they hit several tasks; other 4xx fail the task; everything else is
   * retried. Every call carries `Idempotency-Key`.
   */
  http: (props: HttpRunnerProps): ITaskRunner => new HttpRunner(props),

  /**
   * Invokes a function of yours, in any language, and waits for its reply.
   *
   * @param fn may be an alias or a version
   */
  lambda: (fn: IFunction): ITaskRunner => new LambdaRunner(fn),

  /** Pretends: at most `capacity` tasks at once, each for `duration`; more are *busy*. For trying a queue out. */
  simulated: (props: SimulatedRunnerProps = {}): ITaskRunner => new SimulatedRunner(props),

  /** Puts your own `process-tasks` in place of this package's: a binary with a runner written in Rust. */
  rust: (props: RustRunnerProps): ITaskRunner => new RustRunner(props),
} as const;
