import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { acknowledge } from '../lambda/nag-suppressions';
import { readQueue } from '../lambda/queue-source';
import { retainedOnceUsed } from '../lambda/retention';
import type { RustFunction } from '../lambda/rust-function';
import type { AgentQueueSettings } from './settings';

/** What both queues have: in order, TLS only, encrypted by SQS, kept for SQS's longest time. */
const BOTH = {
  fifo: true,
  // Two calls may ask for the same. The call's id, which the sender gives, tells them apart.
  contentBasedDeduplication: false,
  enforceSSL: true,
  encryption: QueueEncryption.SQS_MANAGED,
  retentionPeriod: Duration.days(14),
} as const;

/** Props of {@link CallIntake}. */
export interface CallIntakeProps {
  readonly settings: AgentQueueSettings;
  /** The fate of the queues when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
}

/**
 * The call queue: an SQS FIFO queue with a message group for each set of criteria, and its dead-letter queue.
 *
 * A message is `{"callId"?: …, "criteria": {…}}`; its group the canonical criteria, for example `Spanish#M`, with `*`
 * for any; its deduplication id the call's id. The dead-letter queue gets messages after their last attempt, messages that
 * `match-calls` rejects, and calls that waited too long.
 */
export class CallIntake extends Construct {
  /** Calls that come in. */
  readonly queue: Queue;
  /** The dead-letter queue: expired calls and undeliverable messages. */
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
    acknowledge(this.deadLetters, 'deadLetterQueue');
    this.queue = new Queue(this, 'queue', {
      ...BOTH,
      // High throughput: the limit holds for each message group, that is each set of criteria, not for the queue. A
      // call's id is deduplicated within its group; a call sent to two groups is recognised by its item in the table.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      removalPolicy,
      visibilityTimeout: settings.calls.visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: settings.calls.maxReceiveCount },
    });
  }

  /** Invokes `target` with batches of calls; it answers which failed, so that only their groups are held up. */
  feed(target: RustFunction): void {
    const { batchSize, maxConcurrency } = this.props.settings.calls;
    // No batching window: Lambda rejects one for a FIFO queue.
    readQueue(target, 'calls', this.queue, {
      batchSize,
      maxConcurrency,
      // What failed becomes visible again soon.
      also: ['sqs:ChangeMessageVisibility'],
    });
  }

  /** Lets a principal send calls, and do nothing else to the queue. */
  grantSend(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['sqs:SendMessage'],
      resourceArns: [this.queue.queueArn],
    });
  }
}
