import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { FailureQueue } from './failure-queue';
import type { RustFunction } from './rust-function';

/** An encrypted standard topic that accepts only TLS connections. */
export class SecureTopic extends Topic {
  constructor(scope: Construct, id: string) {
    super(scope, id, { enforceSSL: true });
    // Uses the AWS managed key. Its policy allows this account's principals to use the key through SNS, so publishers
    // don't need a KMS permission. SNS documents the alias name for this key, whereas the CDK would set an ARN
    // (https://docs.aws.amazon.com/sns/latest/dg/sns-enable-encryption-for-topic.html).
    (this.node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
  }
}

/** A topic of the wake-up protocol. Notifications that SNS can't deliver to the function go to a queue. */
export class QueueTopic extends Construct {
  readonly topic: Topic;
  /** Notifications that SNS could not deliver to Lambda. */
  readonly undelivered: FailureQueue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.topic = new SecureTopic(this, 'topic');
    this.undelivered = new FailureQueue(this, 'undelivered');
  }

  /** Invokes `target` with each notification. Notifications that SNS can't deliver go to {@link undelivered}. */
  notify(target: RustFunction): void {
    this.topic.addSubscription(
      new LambdaSubscription(target.function, { deadLetterQueue: this.undelivered }),
    );
  }
}
