import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Acknowledged findings of cdk-nag's rules: the template breaks the rule, but for a good reason. */
export interface Acknowledgement {
  /** The rules, as `Pack::Pack-Rule`. cdk-nag's `RULES.md` explains them. */
  readonly rules: readonly string[];
  /** Resources that the findings are about. */
  readonly where: string;
  /** Reason why the template is correct nevertheless. */
  readonly reason: string;
}

/**
 * All acknowledgements; `docs/reference/cdk-nag-suppressions.md` lists them. A test checks that each is still needed at
 * every place, and that no other file acknowledges a finding.
 */
export const ACKNOWLEDGEMENTS = {
  failureQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'a failure queue',
    reason: 'it is itself a dead-letter queue: of Lambda, SNS or EventBridge Scheduler, not of another queue',
  },
  shedQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the queue that keeps shed tasks',
    reason:
      'it keeps shed tasks for inspection; no function reads it, so no function can fail to process a message',
  },
  deadLetterQueue: {
    rules: ['Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the dead-letter queue of a queue that a function reads',
    reason:
      'it is itself a dead-letter queue; an alarm rings when it has messages, and an operator reads them',
  },
  functionRole: {
    rules: ['AwsSolutions::AwsSolutions-IAM5[Resource::*]'],
    where: "a function's role",
    reason:
      'the actions of X-Ray, and of EC2 for a function in a VPC, have no resource that a policy could name',
  },
  asyncFailures: {
    rules: ['Serverless::Serverless-LambdaDLQ'],
    where: 'a function',
    reason:
      'failed asynchronous invocations go to its failure destination, with the error and the event; the dead-letter target that the rule asks for is the older mechanism and gives less information',
  },
  queueSource: {
    rules: ['Serverless::Serverless-LambdaEventSourceMappingDestination'],
    where: 'the mapping of an SQS queue to a function',
    reason:
      'Lambda supports a failure destination only for streams and Kafka; SQS moves undeliverable messages to the dead-letter queue, by the redrive policy',
  },
  noPointInTimeRecovery: {
    rules: ['AwsSolutions::AwsSolutions-DDB3'],
    where: 'a table whose owner switched point-in-time recovery off, as in dev',
    reason: 'pointInTimeRecovery: false states that this data may be lost',
  },
} as const satisfies Record<string, Acknowledgement>;

/** Acknowledges the findings of {@link ACKNOWLEDGEMENTS} under `name`, for a construct and its children. */
export function acknowledge(construct: IConstruct, name: keyof typeof ACKNOWLEDGEMENTS): void {
  const { rules, reason } = ACKNOWLEDGEMENTS[name];
  Validations.of(construct).acknowledge(...rules.map((id) => ({ id, reason })));
}
