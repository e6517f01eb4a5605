import {
  type CfnFunction,
  type IFunction,
  type IVersion,
  Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { type Problem, problemIf } from '../../shared/problem';
import { regionProblem } from '../../shared/region';
import type { QueueSettings } from '../settings';
import type { ITaskRunner, RunnerBinding } from './binding';

/** Lambda's default timeout. */
const DEFAULT_TIMEOUT_MS = 3_000;
const SETTING = 'runner';

export class LambdaRunner implements ITaskRunner {
  constructor(private readonly fn: IFunction) {}

  /** @internal */
  _problems({ processing }: QueueSettings, region?: string): Problem[] {
    const elsewhere = regionProblem(
      SETTING,
      this.fn,
      region,
      (here, there) => `process-tasks in ${here} cannot invoke a function in ${there}`,
      (here) => `use a function in ${here}, or TaskRunner.http with the URL of the function`,
    );
    // The configuration of an imported function is unknown.
    const fn = unqualified(this.fn);
    if (fn === undefined) return elsewhere;
    const timeout = fn.timeout?.toMilliseconds() ?? DEFAULT_TIMEOUT_MS;
    const limit = processing.taskTimeout.toMilliseconds();
    return [
      ...elsewhere,
      ...problemIf(
        timeout > limit,
        SETTING,
        `the function may run for ${timeout} ms, longer than the task timeout of ${limit} ms: a retried task would overlap with its own earlier run`,
        `shorten the function's timeout, or raise processing.taskTimeout to at least ${timeout} ms`,
      ),
      ...kindProblems(fn, fn === this.fn),
    ];
  }

  /** @internal */
  _bind(): RunnerBinding {
    return {
      description: { kind: 'lambda', functionArn: this.fn.functionArn },
      permissions: [{ actions: ['lambda:InvokeFunction'], resources: [this.fn.functionArn] }],
    };
  }
}

/** Returns the function of an alias or a version, or the function itself, if it is part of the app. */
function unqualified(fn: IFunction): LambdaFunction | undefined {
  const { lambda = fn } = fn as Partial<IVersion> & IFunction;
  return lambda instanceof LambdaFunction ? lambda : undefined;
}

/** Returns the problems with kinds of functions that `process-tasks` can't invoke once per attempt. */
function kindProblems(fn: LambdaFunction, latest: boolean): Problem[] {
  const { tenancyConfig, durableConfig, capacityProviderConfig, publishToLatestPublished } = fn.node
    .defaultChild as CfnFunction;
  return [
    ...problemIf(
      tenancyConfig !== undefined,
      SETTING,
      'the function isolates tenants, so each invocation requires a tenant id, which process-tasks does not send',
      'use a function without tenancyConfig that invokes this one with the tenant of the payload',
    ),
    ...problemIf(
      durableConfig !== undefined,
      SETTING,
      'the function is durable and continues after its invocation has ended, so a retried task would overlap with its own earlier run',
      'use a function without durableConfig that starts the durable execution, named after the taskId',
    ),
    ...problemIf(
      capacityProviderConfig !== undefined && latest && !publishToLatestPublished,
      SETTING,
      'the function has a capacity provider, so only its published versions can be invoked',
      'use fn.currentVersion or an alias of it',
    ),
  ];
}
