import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { FailureQueue } from './failure-queue';
import type { RustFunction } from './rust-function';

/** A standard topic: TLS only, encrypted. */
export class SecureTopic extends Topic {
  constructor(scope: Construct, id: string) {
    super(scope, id, { enforceSSL: true });
    // AWS's own key: its policy lets this account's principals use it through SNS, so that publishers need no KMS
    // permission. SNS documents the alias's name for it
    // (https://docs.aws.amazon.com/sns/latest/dg/sns-enable-encryption-for-topic.html); the library would give its ARN.
    (this.node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
  }
}

/** A topic of the wake-up protocol: nothing is lost between it and its function. */
export class QueueTopic extends Construct {
  /** The topic. */
  readonly topic: Topic;
  /** Notifications that SNS could not hand to Lambda. */
  readonly undelivered: FailureQueue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.topic = new SecureTopic(this, 'topic');
    this.undelivered = new FailureQueue(this, 'undelivered');
  }

  /** Invokes `target` with each notification; what SNS cannot deliver goes to {@link undelivered}. */
  notify(target: RustFunction): void {
    this.topic.addSubscription(
      new LambdaSubscription(target.function, { deadLetterQueue: this.undelivered }),
    );
  }
}
