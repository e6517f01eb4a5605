import { RemovalPolicy } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

export interface AlarmTopicProps {
  /** Email addresses that receive the alarms. SNS first asks each address to confirm. */
  readonly emails: readonly string[];
}

/**
 * An encrypted, TLS-only topic that sends alarms by email. Each queue that uses the topic lets CloudWatch publish to
 * it and use its key. The topic has its own key, because the AWS managed key for SNS doesn't allow CloudWatch to publish
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html).
 */
export class AlarmTopic extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { emails }: AlarmTopicProps) {
    super(scope, id);
    const key = new Key(this, 'key', {
      description: 'freshq: encrypts alarms in transit',
      enableKeyRotation: true,
      // The key encrypts only alarms in transit, so a retained key would be useless and would cost a dollar a month.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.topic = new Topic(this, 'topic', { enforceSSL: true, masterKey: key });
    for (const email of emails) this.topic.addSubscription(new EmailSubscription(email));
  }
}

/** Whether a string can be an email address: one `@`, a domain with a dot, no spaces and no separators. */
export function isEmail(address: string): boolean {
  return /^[^\s@<>,;]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(address);
}
