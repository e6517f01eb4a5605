import { Annotations, CfnOutput } from 'aws-cdk-lib';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { OPTIONAL_OUTPUTS } from '../contract/tasks';
import { type RunnerConfig, UNSET_RUNNER_URL } from '../environments/list';
import { simulatedRunner } from '../environments/rules';
import { LifoQueue } from '../tasks/lifo-queue';
import type { ITaskRunner } from '../tasks/runners/binding';
import { HttpAuth } from '../tasks/runners/http-auth';
import { TaskRunner } from '../tasks/runners/task-runner';
import { ShedQueue } from '../tasks/shed-queue';
import { EnvironmentStack, type EnvironmentStackProps } from './environment-stack';
import { acknowledgeFindings } from './nag-suppressions';

/**
 * Alarms that roll back a deployment. They fire within minutes if new code fails. The sweep runs every minute, so its
 * errors reveal a broken deployment even without tasks. Alarms on a paused or slow queue are not in the list, because
 * operators or the downstream cause them.
 */
const ROLLS_BACK = [
  'failing',
  'process-tasks-errors',
  'sweep-tasks-errors',
  'trigger-errors',
  'create-tasks-errors',
];

/** Stack of one newest-first task queue: `LifoQueue-<environment>`. */
export class LifoQueueStack extends EnvironmentStack {
  readonly queue: LifoQueue;

  constructor(scope: Construct, props: EnvironmentStackProps) {
    super(scope, 'LifoQueue', 'newest-first task queue', props);
    const { environment } = props;
    const shedTasks = environment.keepShedTasks
      ? new ShedQueue(this, 'shed-tasks', { removalPolicy: environment.removalPolicy })
      : undefined;
    this.queue = new LifoQueue(this, 'queue', {
      ...environment.settings,
      runner: this.runner(environment.runner),
      removalPolicy: environment.removalPolicy,
      deletionProtection: environment.deletionProtection,
      pointInTimeRecovery: environment.pointInTimeRecovery,
      logs: environment.logs,
      simulation: environment.simulation,
      expectedTasksPerSecond: environment.expectedTasksPerSecond,
      alarmTopic: this.alarmTopic(),
      shedTasksTo: shedTasks,
      taskEventsTo: this.eventBus(environment.taskEventBus),
      dashboard: environment.dashboards,
    });
    this.rollBackOn(this.queue.observability.all, ROLLS_BACK);
    this.queue.exportOutputs();
    acknowledgeFindings(this);
    this.addOptionalOutputs(shedTasks);
  }

  private runner(config: RunnerConfig): ITaskRunner {
    if (config.kind === 'simulated') return simulatedRunner(config);
    const { url, auth } = config;
    if (url === UNSET_RUNNER_URL) {
      Annotations.of(this).addWarningV2(
        'freshq:runner-unset',
        `the runner's URL ${url} is a placeholder to which no connection is possible: no task would run, the circuit breaker would open, and tasks would expire. Set your own URL in infra/environments/list.ts: make deploy rejects the placeholder`,
      );
    }
    if (auth === undefined) return TaskRunner.http({ url });
    const secret = Secret.fromSecretCompleteArn(this, 'runner-secret', auth.secretArn);
    return TaskRunner.http({ url, auth: HttpAuth.header({ name: auth.headerName, secret }) });
  }

  private eventBus(name: string | undefined): IEventBus | undefined {
    return name === undefined ? undefined : EventBus.fromEventBusName(this, 'task-events', name);
  }

  private addOptionalOutputs(shedTasks: ShedQueue | undefined): void {
    if (shedTasks !== undefined) {
      new CfnOutput(this, OPTIONAL_OUTPUTS.shedTasks[0], {
        value: shedTasks.queueUrl,
        description: 'Expired tasks, kept for 14 days',
      });
    }
    this.addDashboardUrl(this.queue.observability, OPTIONAL_OUTPUTS.dashboard[0]);
  }
}
