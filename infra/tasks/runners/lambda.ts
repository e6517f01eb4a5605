import { type IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { type Problem, problemIf } from '../../lambda/problem';
import type { QueueSettings } from '../settings';
import type { ITaskRunner, RunnerBinding } from './binding';

/** Lambda's default timeout. */
const DEFAULT_TIMEOUT_MS = 3_000;

export class LambdaRunner implements ITaskRunner {
  constructor(private readonly fn: IFunction) {}

  /** @internal */
  _problems({ processing }: QueueSettings): Problem[] {
    // The timeout of an imported function or of an alias is unknown.
    if (!(this.fn instanceof LambdaFunction)) return [];
    const timeout = this.fn.timeout?.toMilliseconds() ?? DEFAULT_TIMEOUT_MS;
    const limit = processing.taskTimeout.toMilliseconds();
    return problemIf(
      timeout > limit,
      'runner',
      `the function may run for ${timeout} ms, longer than the task timeout of ${limit} ms: a retried task would overlap with its own earlier run`,
      `shorten the function's timeout, or raise processing.taskTimeout to at least ${timeout} ms`,
    );
  }

  /** @internal */
  _bind(): RunnerBinding {
    return {
      description: { kind: 'lambda', functionArn: this.fn.functionArn },
      permissions: [{ actions: ['lambda:InvokeFunction'], resources: [this.fn.functionArn] }],
    };
  }
}
