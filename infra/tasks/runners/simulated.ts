import { Duration } from 'aws-cdk-lib';
import { definedOf } from '../../shared/defined';
import { type Problem, problemIf } from '../../shared/problem';
import { integer } from '../../shared/ranges';
import type { QueueSettings } from '../settings';
import type { ITaskRunner, RunnerBinding } from './binding';
import { ratesProblems, type SimulatedRates, totalOf } from './rates';

/** Props of `TaskRunner.simulated`. */
export interface SimulatedRunnerProps {
  /**
   * Maximum number of tasks that the simulated downstream runs concurrently.
   * @default 3
   */
  readonly capacity?: number;
  /**
   * Duration of each run.
   * @default 15 seconds
   */
  readonly duration?: Duration;
  /**
   * Shares of runs that don't succeed. They don't apply to tasks whose payload sets the outcome.
   * @default - every run succeeds
   */
  readonly rates?: SimulatedRates;
}

export class SimulatedRunner implements ITaskRunner {
  private readonly capacity: number;
  private readonly duration: Duration;
  private readonly rates: SimulatedRates;

  constructor(props: SimulatedRunnerProps) {
    this.capacity = props.capacity ?? 3;
    this.duration = props.duration ?? Duration.seconds(15);
    this.rates = definedOf(props.rates);
  }

  /** @internal */
  _problems({ processing }: QueueSettings): Problem[] {
    const [duration, timeout] = [this.duration.toMilliseconds(), processing.taskTimeout.toMilliseconds()];
    return [
      ...integer('runner.capacity', this.capacity, 1, 100_000),
      ...problemIf(
        duration >= timeout,
        'runner.duration',
        `a simulated task of ${duration} ms would always hit the task timeout of ${timeout} ms`,
        'shorten runner.duration or raise processing.taskTimeout',
      ),
      ...ratesProblems(this.rates),
    ];
  }

  /** @internal */
  _bind(): RunnerBinding {
    return {
      description: {
        kind: 'simulated',
        capacity: this.capacity,
        durationMs: this.duration.toMilliseconds(),
        // `process-tasks` from a release without rates rejects the field, so it is set only if a rate is above 0.
        ...(totalOf(this.rates) > 0 && { rates: this.rates }),
      },
    };
  }
}
