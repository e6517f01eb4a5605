import { Aws } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnTopicRule } from 'aws-cdk-lib/aws-iot';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { FailureQueue } from '../../lambda/failure-queue';
import { IOT_PRESENCE_SQL, IOT_SQL_VERSION } from './iot-presence-sql';

/** Props of {@link IotPresence}. */
export interface IotPresenceProps {
  /** Where the tasks go: a standard queue, the only kind that IoT's rules send to. */
  readonly queue: Queue;
}

/**
 * An AWS IoT rule: every device that connects, in this account and region, becomes a task whose payload says who and
 * from where. What IoT cannot send, after its own retries, goes to a failure queue with the original event.
 */
export class IotPresence extends Construct {
  /** The rule. */
  readonly rule: CfnTopicRule;
  /** Events that the rule could not send. */
  readonly failures: FailureQueue;

  constructor(scope: Construct, id: string, { queue }: IotPresenceProps) {
    super(scope, id);
    this.failures = new FailureQueue(this, 'failures');
    const role = new Role(this, 'role', {
      // For rules of this account only: IoT must not be talked into it by another's.
      assumedBy: new ServicePrincipal('iot.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
    });
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queue.queueArn] }),
    );
    this.failures.allowSend(role);
    const send = (url: string) => ({ sqs: { queueUrl: url, roleArn: role.roleArn, useBase64: false } });
    this.rule = new CfnTopicRule(this, 'rule', {
      topicRulePayload: {
        description: 'Makes a task of every device that connects',
        sql: IOT_PRESENCE_SQL,
        awsIotSqlVersion: IOT_SQL_VERSION,
        actions: [send(queue.queueUrl)],
        errorAction: send(this.failures.queueUrl),
      },
    });
    // A rule whose role may not send yet would lose the events until then.
    this.rule.node.addDependency(role);
  }
}
