import { Annotations, Token } from 'aws-cdk-lib';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { Problem } from '../problem';

/** Id of the warning of {@link warnWithoutAlarmTopic}. */
export const NO_ALARM_TOPIC = 'freshq:no-alarm-topic';

/** A problem if CloudWatch alarms cannot publish to the topic. */
export function alarmTopicProblems(topic: ITopic | undefined): Problem[] {
  if (topic === undefined || Token.isUnresolved(topic.fifo) || !topic.fifo) return [];
  return [
    {
      setting: 'alarmTopic',
      rule: 'CloudWatch alarms cannot publish to a FIFO topic',
      remedy: 'use a standard topic',
    },
  ];
}

/** Warns if the alarms of a queue have no topic. */
export function warnWithoutAlarmTopic(queue: Construct, topic: ITopic | undefined): void {
  if (topic !== undefined) return;
  Annotations.of(queue).addWarningV2(
    NO_ALARM_TOPIC,
    'the alarms of this queue have no recipient, so only the CloudWatch console shows them: set alarmTopic',
  );
}
