import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { retainedOnceUsed } from '../shared/retention';

/** Props of {@link ShedQueue}. */
export interface ShedQueueProps {
  /** Removal policy of the queue. */
  readonly removalPolicy: RemovalPolicy;
}

/**
 * A queue that keeps shed tasks for an operator: TLS only, encrypted by SQS, with a retention of 14 days, the SQS
 * maximum. No function reads it, and no alarm monitors it, because a newest-first queue sheds tasks by design.
 */
export class ShedQueue extends Queue {
  constructor(scope: Construct, id: string, props: ShedQueueProps) {
    super(scope, id, {
      enforceSSL: true,
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
      removalPolicy: retainedOnceUsed(props.removalPolicy),
    });
  }
}
