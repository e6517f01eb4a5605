import { Aws, Fn, Names, type RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { grantSending } from '../../shared/grants';
import type { IQueueIntake } from '../../shared/queue-parts';
import { readQueue } from '../../shared/queue-source';
import { retainedOnceUsed } from '../../shared/retention';
import type { RustFunction } from '../../shared/rust-function';
import type { ResolvedIngestSettings } from '../settings/ingest';
import { IotPresence } from './iot-presence';

/** Options of both queues. With a KMS key, SNS, EventBridge and IoT could send only if the key's policy allowed it. */
const BOTH = { enforceSSL: true, encryption: QueueEncryption.SQS_MANAGED } as const;

export interface TaskIngestProps {
  readonly settings: ResolvedIngestSettings;
  readonly groups: boolean;
  readonly removalPolicy: RemovalPolicy;
}

/**
 * The ingest queue, which accepts tasks at any rate: an SQS standard queue with a dead-letter queue for invalid tasks
 * and for messages not written within {@link ResolvedIngestSettings.maxReceiveCount} attempts.
 *
 * A message is one task or an array of tasks:
 * `{"group"?, "taskId"? or "key"? with "sequence"?, "payload"?, "ttlSeconds"?, "taskCreated"?, "delaySeconds"?}`.
 */
export class TaskIngest extends Construct implements IQueueIntake {
  /** The ingest queue. Any service that can send to an SQS queue can be a producer; see `docs/how-to/producers.md`. */
  readonly queue: Queue;
  readonly deadLetters: Queue;
  /** The rule that creates a task for each device that connects, if there is one. */
  readonly iotPresence?: IotPresence;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: TaskIngestProps,
  ) {
    super(scope, id);
    const { settings } = props;
    const removalPolicy = retainedOnceUsed(props.removalPolicy);
    const queueName = this.nameOfItsOwn();
    this.deadLetters = new Queue(this, 'dead-letters', {
      ...BOTH,
      removalPolicy,
      retentionPeriod: settings.deadLetterRetention,
      redriveAllowPolicy: {
        redrivePermission: RedrivePermission.BY_QUEUE,
        sourceQueues: [Queue.fromQueueArn(this, 'source', arnOf(this, queueName))],
      },
    });
    this.queue = new Queue(this, 'queue', {
      ...BOTH,
      queueName,
      removalPolicy,
      retentionPeriod: settings.retention,
      visibilityTimeout: settings.visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: settings.maxReceiveCount },
    });
    if (settings.iotPresence) {
      this.iotPresence = new IotPresence(this, 'iot-presence', { queue: this.queue, groups: props.groups });
    }
  }

  /**
   * Invokes `target` with batches of messages. SQS redelivers the messages that the function reports as failed.
   * @internal
   */
  _feed(target: RustFunction): void {
    const { batchSize, batchWindow, maxConcurrency, provisionedPollers } = this.props.settings;
    const mapping = readQueue(target, 'messages', this.queue, {
      batchSize,
      maxBatchingWindow: batchWindow,
      maxConcurrency,
      also: ['sqs:ChangeMessageVisibility'],
    });
    target.allow(['sqs:SendMessage'], [this.deadLetters.queueArn]);
    if (provisionedPollers !== undefined) {
      // CDK checks only the Kafka limit of 2,000 pollers. SQS allows 10,000.
      const resource = mapping.node.defaultChild as CfnEventSourceMapping;
      resource.provisionedPollerConfig = { ...provisionedPollers };
    }
  }

  grantSend(grantee: IGrantable): Grant {
    return grantSending(this.queue, grantee);
  }

  /**
   * Returns a fixed name for the ingest queue. This queue and its dead-letter queue refer to each other, but
   * CloudFormation allows references in only one direction. Therefore, the ingest queue is the stack's only named
   * resource. Its name contains the stack's id, so no other stack can use the name, not even a later stack with the
   * same name. The name must never change, because a new name would replace a deployed queue.
   */
  private nameOfItsOwn(): string {
    const guid = Fn.select(2, Fn.split('/', Aws.STACK_ID));
    return `${Names.uniqueResourceName(this, { maxLength: 43, separator: '-' })}-${guid}`;
  }
}

function arnOf(scope: Construct, queueName: string): string {
  return Stack.of(scope).formatArn({ service: 'sqs', resource: queueName });
}
