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

/**
 * A queue for events that could not be delivered or processed: TLS only, with a retention of 14 days, the SQS maximum.
 * It uses SQS-managed encryption, because the policy of an AWS managed KMS key would not allow SNS to write.
 */
export class FailureQueue extends Queue {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      enforceSSL: true,
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
    });
  }

  /**
   * Allows a role to send messages, and nothing else. The CDK's own grant also allows reading the queue's
   * attributes.
   */
  allowSend(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.queueArn] }),
    );
  }

  /**
   * Returns this queue as the failure destination for asynchronous invocations or a stream. The function's role also
   * requires {@link allowSend}.
   */
  asDestination(): IDestination & IEventSourceDlq {
    const config: DestinationConfig & DlqDestinationConfig = { destination: this.queueArn };
    return { bind: () => config };
  }
}
