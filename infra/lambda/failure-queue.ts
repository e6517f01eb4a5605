import { Duration } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type {
  DestinationConfig,
  DlqDestinationConfig,
  IDestination,
  IEventSourceDlq,
} from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from './nag-suppressions';

/**
 * A queue for what could not be delivered or processed: TLS only, encrypted by SQS (a KMS key of AWS's own
 * would forbid SNS to write), kept for SQS's longest time, 14 days.
 */
export class FailureQueue extends Queue {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      enforceSSL: true,
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
    });
    acknowledge(this, 'failureQueue');
  }

  /** Lets a role write, and nothing else: the library's own grant also lets it read the queue's attributes. */
  allowSend(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.queueArn] }),
    );
  }

  /**
   * This queue as the failure destination of asynchronous invocations or of a stream. The role needs
   * {@link allowSend}.
   */
  asDestination(): IDestination & IEventSourceDlq {
    const config: DestinationConfig & DlqDestinationConfig = { destination: this.queueArn };
    return { bind: () => config };
  }
}
