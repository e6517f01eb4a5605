import { Aws, RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/** Alarms are CloudWatch's to publish, and only this account's. */
const CLOUDWATCH = 'cloudwatch.amazonaws.com';

/** Props of {@link AlarmTopic}. */
export interface AlarmTopicProps {
  /** The recipients of alarms. SNS first sends each a message to confirm. */
  readonly emails: readonly string[];
}

/**
 * A topic that sends alarms to people: TLS only, encrypted. Its key is one of its own, since AWS's key for SNS does
 * not let CloudWatch publish
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html).
 */
export class AlarmTopic extends Construct {
  /** The topic. */
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { emails }: AlarmTopicProps) {
    super(scope, id);
    const ours = { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } };
    const key = new Key(this, 'key', {
      description: 'freshq: encrypts alarms on their way',
      enableKeyRotation: true,
      // It encrypts alarms in transit and nothing at rest. A retained key would cost a dollar a month for nothing.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(CLOUDWATCH)],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
        // In a key's policy, * is the key itself.
        resources: ['*'],
        conditions: ours,
      }),
    );
    this.topic = new Topic(this, 'topic', { enforceSSL: true, masterKey: key });
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(CLOUDWATCH)],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: ours,
      }),
    );
    for (const email of emails) this.topic.addSubscription(new EmailSubscription(email));
  }
}

/** Whether this can be an address: one sign, a domain with a dot, nothing that a person would not type. */
export function isEmail(address: string): boolean {
  return /^[^\s@<>,;]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(address);
}
