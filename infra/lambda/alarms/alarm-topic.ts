import { Token } from 'aws-cdk-lib';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Problem } from '../problem';

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
