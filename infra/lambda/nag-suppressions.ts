import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Findings of cdk-nag's rules that are right about the template and wrong about what it is for. */
export interface Acknowledgement {
  /** The rules, as `Pack::Pack-Rule`; what they ask is in cdk-nag's `RULES.md`. */
  readonly rules: readonly string[];
  /** What the findings are about. */
  readonly where: string;
  /** Why the template is right all the same. */
  readonly reason: string;
}

/**
 * Every acknowledgement there is; `docs/reference/cdk-nag-suppressions.md` lists them. A test takes care that each is still needed,
 * wherever it is given, and that no other file acknowledges anything.
 */
export const ACKNOWLEDGEMENTS = {
  failureQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'a queue for what failed: of Lambda, SNS or EventBridge Scheduler',
    reason: 'this is a dead-letter queue: of Lambda, SNS or EventBridge Scheduler, not of another queue',
  },
  shedQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the queue that keeps shed tasks',
    reason: 'it keeps what was shed until a person looks; no function receives from it, so none can fail to',
  },
  deadLetterQueue: {
    rules: ['Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the dead-letter queue of a queue that a function reads',
    reason:
      'this is a dead-letter queue; a person reads it, and an alarm tells when there is something in it',
  },
  functionRole: {
    rules: ['AwsSolutions::AwsSolutions-IAM5[Resource::*]'],
    where: "a function's role",
    reason: 'X-Ray, and EC2 for a function in a VPC, know no resources to name',
  },
  asyncFailures: {
    rules: ['Serverless::Serverless-LambdaDLQ'],
    where: 'a function',
    reason:
      'asynchronous invocations that fail go to its failure destination, which tells the error with the event; the dead-letter target that the rule asks for is the older way, and tells less',
  },
  queueSource: {
    rules: ['Serverless::Serverless-LambdaEventSourceMappingDestination'],
    where: 'the mapping of an SQS queue to a function',
    reason:
      'Lambda takes a failure destination for streams and Kafka only; SQS moves undeliverable messages to the dead-letter queue, by the redrive policy',
  },
  noPointInTimeRecovery: {
    rules: ['AwsSolutions::AwsSolutions-DDB3'],
    where: 'a table whose owner switched point-in-time recovery off, as in dev',
    reason: 'pointInTimeRecovery: false states that this data may be lost',
  },
} as const satisfies Record<string, Acknowledgement>;

/** Acknowledges the findings of {@link ACKNOWLEDGEMENTS} under `name`, for a construct and what is in it. */
export function acknowledge(construct: IConstruct, name: keyof typeof ACKNOWLEDGEMENTS): void {
  const { rules, reason } = ACKNOWLEDGEMENTS[name];
  Validations.of(construct).acknowledge(...rules.map((id) => ({ id, reason })));
}
