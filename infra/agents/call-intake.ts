import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { grantSending } from '../shared/grants';
import type { IQueueIntake } from '../shared/queue-parts';
import { readQueue } from '../shared/queue-source';
import { retainedOnceUsed } from '../shared/retention';
import type { RustFunction } from '../shared/rust-function';
import type { AgentQueueSettings } from './settings';

/** Options shared by the call queue and its dead-letter queue: FIFO, TLS only, SQS encryption, maximum retention. */
const BOTH = {
  fifo: true,
  // Two calls can have equal bodies, so the sender provides a deduplication id: the call's id.
  contentBasedDeduplication: false,
  enforceSSL: true,
  encryption: QueueEncryption.SQS_MANAGED,
  retentionPeriod: Duration.days(14),
} as const;

export interface CallIntakeProps {
  readonly settings: AgentQueueSettings;
  readonly removalPolicy: RemovalPolicy;
}

/**
 * The call queue, an SQS FIFO queue with one message group per set of criteria, and its dead-letter queue.
 *
 * A message is `{"callId"?: …, "criteria": {…}}`. Its group is the criteria in canonical form, for example `Spanish#M`,
 * with `*` for any value. Its deduplication id is the call's id. The dead-letter queue receives messages after their
 * last attempt, messages that `match-calls` rejects, and expired calls.
 */
export class CallIntake extends Construct implements IQueueIntake {
  readonly queue: Queue;
  /** The dead-letter queue for expired calls and undeliverable messages. */
  readonly deadLetters: Queue;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: CallIntakeProps,
  ) {
    super(scope, id);
    const { settings } = props;
    const removalPolicy = retainedOnceUsed(props.removalPolicy);
    this.deadLetters = new Queue(this, 'dead-letters', { ...BOTH, removalPolicy });
    this.queue = new Queue(this, 'queue', {
      ...BOTH,
      // High throughput: the limit applies per message group (set of criteria), not to the whole queue. SQS deduplicates
      // a call's id within its group. If a call is sent to two groups, its item in the table reveals the duplicate.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      removalPolicy,
      visibilityTimeout: settings.calls.visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: settings.calls.maxReceiveCount },
    });
  }

  /**
   * Invokes `target` with batches of calls. The function reports failed messages, so only their groups are delayed.
   * @internal
   */
  _feed(target: RustFunction): void {
    const { batchSize, maxConcurrency } = this.props.settings.calls;
    // Omits the batching window, because Lambda rejects one for a FIFO queue.
    readQueue(target, 'calls', this.queue, {
      batchSize,
      maxConcurrency,
      // The function shortens the visibility timeout of failed messages, so that SQS redelivers them soon.
      also: ['sqs:ChangeMessageVisibility'],
    });
  }

  grantSend(grantee: IGrantable): Grant {
    return grantSending(this.queue, grantee);
  }
}
