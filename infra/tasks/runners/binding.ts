import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { Problem } from '../../shared/problem';
import type { NetworkSettings } from '../../shared/rust-function';
import type { QueueSettings } from '../settings';
import type { SimulatedRates } from './rates';

/** JSON value of the environment variable `TASK_RUNNER` of `process-tasks`. */
export type RunnerDescription =
  | {
      readonly kind: 'simulated';
      readonly capacity: number;
      readonly durationMs: number;
      readonly rates?: SimulatedRates;
    }
  | { readonly kind: 'http'; readonly url: string; readonly auth?: AuthDescription }
  | { readonly kind: 'lambda'; readonly functionArn: string }
  | { readonly kind: 'custom' };

/** Authentication of an HTTP runner. */
export type AuthDescription =
  | { readonly kind: 'header'; readonly name: string; readonly secretArn: string }
  | { readonly kind: 'sigv4'; readonly service: string; readonly region: string };

/** A policy statement for the role of `process-tasks`. */
export interface RunnerPermission {
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: Record<string, Record<string, string>>;
}

/** The parts that a runner adds to the `process-tasks` function. */
export interface RunnerBinding {
  /** The value of `TASK_RUNNER`. */
  readonly description: RunnerDescription;
  /** Permissions that the runner requires. */
  readonly permissions?: RunnerPermission[];
  /** Network in which the function must run. */
  readonly network?: NetworkSettings;
  /** The user's own binary instead of this package's. */
  readonly code?: Code;
  /** Additional environment variables for the user's own binary. */
  readonly environment?: Record<string, string>;
}

/** The code that runs each task: one of the four kinds of `TaskRunner`. */
export interface ITaskRunner {
  /**
   * Returns the problems with the runner's props under these queue settings, for a queue in `region`.
   * @internal
   */
  _problems(settings: QueueSettings, region?: string): Problem[];
  /**
   * Returns the parts that the runner adds to `process-tasks`.
   * @internal
   */
  _bind(scope: Construct): RunnerBinding;
}
