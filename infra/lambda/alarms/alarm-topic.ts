import { Annotations, Aws, Token } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { type Problem, problemIf } from '../problem';

/** Id of the warning that {@link connectAlarms} adds. */
export const NO_ALARM_TOPIC = 'freshq:no-alarm-topic';

/** Returns a problem if CloudWatch alarms can't publish to the topic. */
export function alarmTopicProblems(topic: ITopic | undefined): Problem[] {
  return problemIf(
    !(topic === undefined || Token.isUnresolved(topic.fifo) || !topic.fifo),
    'alarmTopic',
    'CloudWatch alarms cannot publish to a FIFO topic',
    'use a standard topic',
  );
}

/**
 * Warns if a queue's alarms have no topic, and allows them to publish to a topic that has its own policy, for example
 * from `enforceSSL`. The default SNS policy allows publishing, but a topic's own policy replaces it.
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
