import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITaskRunner } from './binding';
import { HttpRunner, type HttpRunnerProps } from './http';
import { LambdaRunner } from './lambda';
import { RustRunner, type RustRunnerProps } from './rust';
import { SimulatedRunner, type SimulatedRunnerProps } from './simulated';

/** The kinds of task runner. */
export class TaskRunner {
  /**
   * POSTs each task as JSON, with an `Idempotency-Key`. The status code of the response determines the outcome:
   *
   * - 2xx: the task succeeded
   * - 408, 425, 429, 503, 529: the downstream is *busy*, until `Retry-After` if the response has it
   * - 403, 409, 413, 502 with `Retry-After`: also *busy*
   * - 401, 403, 404, 3xx: the downstream *rejects* the queue; the task is retried
   * - other 4xx: the task failed
   * - any other code, or no response: the downstream is *unavailable*, or the task is the cause; the task is retried
   */
  static http(props: HttpRunnerProps): ITaskRunner {
    return new HttpRunner(props);
  }

  /**
   * Invokes your own function, written in any language, and waits for its response.
   *
   * @param fn the function; can be an alias or a version
   */
  static lambda(fn: IFunction): ITaskRunner {
    return new LambdaRunner(fn);
  }

  /** Simulates a downstream that runs `capacity` concurrent tasks, each for `duration`, and is *busy* for any others. */
  static simulated(props: SimulatedRunnerProps = {}): ITaskRunner {
    return new SimulatedRunner(props);
  }

  /** Replaces this package's `process-tasks` with your own binary, which contains a runner written in Rust. */
  static rust(props: RustRunnerProps): ITaskRunner {
    return new RustRunner(props);
  }

  private constructor() {}
}
