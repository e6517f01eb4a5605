import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { Problem } from '../../lambda/problem';
import type { NetworkSettings } from '../../lambda/rust-function';
import type { QueueSettings } from '../settings';
import type { SimulatedRates } from './rates';

/** What `process-tasks` reads from `TASK_RUNNER`, as JSON. */
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

/** The authentication of an HTTP runner. */
export type AuthDescription =
  | { readonly kind: 'header'; readonly name: string; readonly secretArn: string }
  | { readonly kind: 'sigv4'; readonly service: string; readonly region: string };

/** A statement of the function's policy. */
export interface RunnerPermission {
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: Record<string, Record<string, string>>;
}

/** What a runner asks of `process-tasks`. */
export interface RunnerBinding {
  /** The value of `TASK_RUNNER`. */
  readonly description: RunnerDescription;
  /** What the runner must be allowed to do. */
  readonly permissions?: RunnerPermission[];
  /** Where it must run. */
  readonly network?: NetworkSettings;
  /** The user's own binary in place of this package's. */
  readonly code?: Code;
  /** Further environment variables, for the user's own binary. */
  readonly environment?: Record<string, string>;
}

/** What a task *does*: one of the four ways to bring one's own work. */
export interface ITaskRunner {
  /** What cannot work about it, given the queue's settings. */
  problems(settings: QueueSettings): Problem[];
  /** What it asks of `process-tasks`. */
  bind(scope: Construct): RunnerBinding;
}
