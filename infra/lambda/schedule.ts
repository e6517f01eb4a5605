import { type Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { FailureQueue } from './failure-queue';
import type { RustFunction } from './rust-function';

/** Props of {@link FunctionSchedule}. */
export interface FunctionScheduleProps {
  /** What is invoked. */
  readonly target: RustFunction;
  /** How often: whole minutes, EventBridge Scheduler's resolution. */
  readonly every: Duration;
  /** What the schedule is for, as the console shows it. */
  readonly description: string;
  /**
   * The event.
   * @default - Scheduler's own
   */
  readonly event?: Record<string, unknown>;
}

/**
 * Invokes a function regularly by EventBridge Scheduler, with a role that can do nothing else and a queue for
 * what Scheduler could not deliver.
 */
export class FunctionSchedule extends Construct {
  /** Invocations that Scheduler could not hand to Lambda. */
  readonly undelivered: FailureQueue;

  constructor(scope: Construct, id: string, props: FunctionScheduleProps) {
    super(scope, id);
    const functionArn = props.target.function.functionArn;
    this.undelivered = new FailureQueue(this, 'undelivered');
    const stack = Stack.of(this);
    // The default group, which this schedule is in. Scheduler names the group as the source, never one schedule
    // (https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html).
    const group = stack.formatArn({
      service: 'scheduler',
      resource: 'schedule-group',
      resourceName: 'default',
    });
    const role = new Role(this, 'role', {
      // The conditions keep schedules of other accounts and of other groups from using this role (confused deputy).
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': stack.account },
          ArnEquals: { 'aws:SourceArn': group },
        },
      }),
    });
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functionArn] }),
    );
    this.undelivered.allowSend(role);
    const schedule = new Schedule(this, 'schedule', {
      description: props.description,
      schedule: ScheduleExpression.rate(props.every),
      target: {
        bind: () => ({
          arn: functionArn,
          role,
          input: props.event === undefined ? undefined : ScheduleTargetInput.fromObject(props.event),
          deadLetterConfig: { arn: this.undelivered.queueArn },
          // The next round comes anyway; a late one is worth nothing once it is due.
          retryPolicy: { maximumRetryAttempts: 1, maximumEventAgeInSeconds: 60 },
        }),
      },
    });
    // The first round must find the role's policy in place.
    schedule.node.addDependency(role);
  }
}
