import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from '../lambda/nag-suppressions';
import { retainedOnceUsed } from '../lambda/retention';

/** Props of {@link ShedQueue}. */
export interface ShedQueueProps {
  /** The fate of the queue when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
}

/**
 * A queue for a person to look at what was shed: TLS only, encrypted by SQS, kept for SQS's longest time, 14 days.
 * Nothing reads it, and no alarm watches it: shedding is what the queue is for.
 */
export class ShedQueue extends Queue {
  constructor(scope: Construct, id: string, props: ShedQueueProps) {
    super(scope, id, {
      enforceSSL: true,
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
      removalPolicy: retainedOnceUsed(props.removalPolicy),
    });
    acknowledge(this, 'shedQueue');
  }
}
