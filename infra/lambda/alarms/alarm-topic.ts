import { Annotations, Aws, Token } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { type Problem, problemIf } from '../problem';

/** Id of the warning of {@link warnWithoutAlarmTopic}. */
export const NO_ALARM_TOPIC = 'freshq:no-alarm-topic';

/** A problem if CloudWatch alarms cannot publish to the topic. */
export function alarmTopicProblems(topic: ITopic | undefined): Problem[] {
  return problemIf(
    !(topic === undefined || Token.isUnresolved(topic.fifo) || !topic.fifo),
    'alarmTopic',
    'CloudWatch alarms cannot publish to a FIFO topic',
    'use a standard topic',
  );
}

/**
 * Warns if the alarms of a queue have no topic, and permits them to publish to a topic with its own policy, such as
 * that of `enforceSSL`. The default policy of SNS permits it, and a policy replaces the default one.
 */
export function connectAlarms(queue: Construct, topic: ITopic | undefined): void {
  if (topic === undefined) {
    Annotations.of(queue).addWarningV2(
      NO_ALARM_TOPIC,
      'the alarms of this queue have no recipient, so only the CloudWatch console shows them: set alarmTopic',
    );
  } else if (topic.node.tryFindChild('Policy') !== undefined) {
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
    );
  }
}
