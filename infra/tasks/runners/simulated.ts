import { Duration } from 'aws-cdk-lib';
import type { Problem } from '../../lambda/problem';
import { integer } from '../../lambda/ranges';
import type { QueueSettings } from '../settings';
import type { ITaskRunner, RunnerBinding } from './binding';

/** Props of `TaskRunner.simulated`. */
export interface SimulatedRunnerProps {
  /**
   * How many tasks the pretended downstream takes at once.
   * @default 3
   */
  readonly capacity?: number;
  /**
   * How long each takes.
   * @default 15 seconds
   */
  readonly duration?: Duration;
}

/** See `TaskRunner.simulated`. */
export class SimulatedRunner implements ITaskRunner {
  private readonly capacity: number;
  private readonly duration: Duration;

  constructor(props: SimulatedRunnerProps) {
    this.capacity = props.capacity ?? 3;
    this.duration = props.duration ?? Duration.seconds(15);
  }

  problems({ processing }: QueueSettings): Problem[] {
    const problems: Problem[] = [];
    const capacity = integer('runner.capacity', this.capacity, 1, 100_000);
    if (capacity !== undefined) problems.push(capacity);
    const [duration, timeout] = [this.duration.toMilliseconds(), processing.taskTimeout.toMilliseconds()];
    if (duration >= timeout) {
      problems.push({
        setting: 'runner.duration',
        rule: `a simulated task of ${duration} ms would always hit the task timeout of ${timeout} ms`,
        remedy: 'shorten runner.duration or raise processing.taskTimeout',
      });
    }
    return problems;
  }

  bind(): RunnerBinding {
    return {
      description: {
        kind: 'simulated',
        capacity: this.capacity,
        durationMs: this.duration.toMilliseconds(),
      },
    };
  }
}
