import { type Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { FailureQueue } from './failure-queue';
import type { RustFunction } from './rust-function';

export interface FunctionScheduleProps {
  readonly target: RustFunction;
  /** Interval in whole minutes, the resolution of EventBridge Scheduler. */
  readonly every: Duration;
  /** Description of the schedule, shown in the EventBridge Scheduler console. */
  readonly description: string;
  /**
   * Event passed to the function.
   * @default - Scheduler's default event
   */
  readonly event?: Record<string, unknown>;
}

/**
 * Invokes a function periodically with EventBridge Scheduler. Its role allows nothing else, and a queue receives
 * invocations that Scheduler could not deliver.
 */
export class FunctionSchedule extends Construct {
  /** Invocations that Scheduler could not deliver to Lambda. */
  readonly undelivered: FailureQueue;

  constructor(scope: Construct, id: string, props: FunctionScheduleProps) {
    super(scope, id);
    const functionArn = props.target.function.functionArn;
    this.undelivered = new FailureQueue(this, 'undelivered');
    const stack = Stack.of(this);
    // The default group, to which this schedule belongs. Scheduler specifies the group, not the schedule, as the source
    // (https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html).
    const group = stack.formatArn({
      service: 'scheduler',
      resource: 'schedule-group',
      resourceName: 'default',
    });
    const role = new Role(this, 'role', {
      // The conditions prevent schedules in other accounts or groups from using this role (confused deputy).
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
          // One retry within a minute is enough, because a later retry would not precede the next invocation.
          retryPolicy: { maximumRetryAttempts: 1, maximumEventAgeInSeconds: 60 },
        }),
      },
    });
    // The role's policy must exist before the first invocation.
    schedule.node.addDependency(role);
  }
}
