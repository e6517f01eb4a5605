import { Aws, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnTopicRule } from 'aws-cdk-lib/aws-iot';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { FailureQueue } from '../../shared/failure-queue';
import { IOT_SQL_VERSION, iotPresenceSql } from './iot-presence-sql';

export interface IotPresenceProps {
  /** The queue that receives the tasks: a standard queue, because IoT rules can't send to a FIFO queue. */
  readonly queue: Queue;
  readonly groups: boolean;
}

/**
 * An AWS IoT rule that creates a task for each device that connects in this account and region. The payload contains
 * the device's client id and address. Events that IoT can't send after its own retries go to a failure queue.
 */
export class IotPresence extends Construct {
  readonly rule: CfnTopicRule;
  /** Events that the rule could not send. */
  readonly failures: FailureQueue;

  constructor(scope: Construct, id: string, { queue, groups }: IotPresenceProps) {
    super(scope, id);
    this.failures = new FailureQueue(this, 'failures');
    const role = new Role(this, 'role', {
      // The condition prevents rules in other accounts from using this role (confused deputy).
      assumedBy: new ServicePrincipal('iot.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID },
          // Any rule, because the name of this one depends on the role.
          ArnLike: {
            'aws:SourceArn': Stack.of(this).formatArn({
              service: 'iot',
              resource: 'rule',
              resourceName: '*',
            }),
          },
        },
      }),
    });
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queue.queueArn] }),
    );
    this.failures.allowSend(role);
    const send = (url: string) => ({ sqs: { queueUrl: url, roleArn: role.roleArn, useBase64: false } });
    this.rule = new CfnTopicRule(this, 'rule', {
      topicRulePayload: {
        description: 'Creates a task for each device that connects',
        sql: iotPresenceSql(groups),
        awsIotSqlVersion: IOT_SQL_VERSION,
        actions: [send(queue.queueUrl)],
        errorAction: send(this.failures.queueUrl),
      },
    });
    // The role's policy must exist before the rule. Otherwise, the rule would lose events.
    this.rule.node.addDependency(role);
  }
}
