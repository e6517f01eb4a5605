import { Validations } from 'aws-cdk-lib';
import { CfnTable } from 'aws-cdk-lib/aws-dynamodb';
import { Role } from 'aws-cdk-lib/aws-iam';
import { CfnEventSourceMapping, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import { FailureQueue } from '../shared/failure-queue';
import { RustFunction } from '../shared/rust-function';
import { ShedQueue } from '../tasks/shed-queue';

/** Acknowledged findings of cdk-nag rules. The template breaks each rule for a good reason. */
export interface Acknowledgement {
  /** The rules, as `Pack::Pack-Rule`. cdk-nag's `RULES.md` explains them. */
  readonly rules: readonly string[];
  /** Description of the resources with the findings. */
  readonly where: string;
  /** Whether a construct is one of these resources. */
  readonly at: (construct: IConstruct) => boolean;
  /** Reason why the template is correct despite the finding. */
  readonly reason: string;
}

/** Whether a construct is part of one of the queues' functions. */
function ofFunction({ node }: IConstruct): boolean {
  return node.scope instanceof RustFunction;
}

/** Whether a construct is the role of a function with active tracing or in a VPC. */
function withoutResources({ node }: IConstruct): boolean {
  const { scope } = node;
  return scope instanceof RustFunction && (scope.traced || scope.function.isBoundToVpc);
}

/** Whether a construct is a function without active tracing. */
function withoutTracing({ node }: IConstruct): boolean {
  return node.scope instanceof RustFunction && !node.scope.traced;
}

/** Whether a construct maps an SQS queue to a function. Only a stream mapping has a starting position. */
function isQueueSource({ node }: IConstruct): boolean {
  const mapping = node.defaultChild;
  return mapping instanceof CfnEventSourceMapping && mapping.startingPosition === undefined;
}

/** Whether a construct is a table without point-in-time recovery. */
function withoutRecovery({ node }: IConstruct): boolean {
  const table = node.defaultChild;
  if (!(table instanceof CfnTable)) return false;
  const recovery = table.pointInTimeRecoverySpecification as
    | CfnTable.PointInTimeRecoverySpecificationProperty
    | undefined;
  return recovery?.pointInTimeRecoveryEnabled !== true;
}

/**
 * All acknowledgements for the environments' stacks. The constructs don't acknowledge anything, because your own app
 * decides about its findings. `docs/reference/cdk-nag-suppressions.md` lists the acknowledgements. A test checks that
 * each is needed at every listed place, and that no other file acknowledges a finding.
 */
export const ACKNOWLEDGEMENTS = {
  failureQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'a failure queue',
    at: (construct) => construct instanceof FailureQueue,
    reason: 'it is itself a dead-letter queue: of Lambda, SNS or EventBridge Scheduler, not of another queue',
  },
  shedQueue: {
    rules: ['AwsSolutions::AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the queue that keeps shed tasks',
    at: (construct) => construct instanceof ShedQueue,
    reason:
      'it keeps shed tasks for inspection; no function reads it, so no function can fail to process a message',
  },
  deadLetterQueue: {
    rules: ['Serverless::Serverless-SQSRedrivePolicy'],
    where: 'the dead-letter queue of a queue that a function reads',
    at: (construct) => construct instanceof Queue && construct.node.id === 'dead-letters',
    reason:
      'it is itself a dead-letter queue; an alarm fires when it has messages, and an operator reads them',
  },
  functionRole: {
    rules: ['AwsSolutions::AwsSolutions-IAM5[Resource::*]'],
    where: 'the role of a function with traces or in a VPC',
    at: (construct) => construct instanceof Role && withoutResources(construct),
    reason:
      'the actions of X-Ray, and of EC2 for a function in a VPC, have no resource that a policy could name',
  },
  asyncFailures: {
    rules: ['Serverless::Serverless-LambdaDLQ'],
    where: 'a function',
    at: (construct) => construct instanceof LambdaFunction && ofFunction(construct),
    reason:
      'failed asynchronous invocations go to its failure destination, with the error and the event; the dead-letter target that the rule requires is the older mechanism and gives less information',
  },
  noTracing: {
    rules: ['Serverless::Serverless-LambdaTracing'],
    where: 'a function of a queue without traces',
    at: (construct) => construct instanceof LambdaFunction && withoutTracing(construct),
    reason: 'X-Ray bills each recorded invocation; traces enables active tracing',
  },
  queueSource: {
    rules: ['Serverless::Serverless-LambdaEventSourceMappingDestination'],
    where: 'the mapping of an SQS queue to a function',
    at: isQueueSource,
    reason:
      'Lambda supports a failure destination only for streams and Kafka; SQS moves undeliverable messages to the dead-letter queue, by the redrive policy',
  },
  noPointInTimeRecovery: {
    rules: ['AwsSolutions::AwsSolutions-DDB3'],
    where: 'a table whose owner disabled point-in-time recovery, as in dev',
    at: withoutRecovery,
    reason: 'pointInTimeRecovery: false states that this data may be lost',
  },
} as const satisfies Record<string, Acknowledgement>;

/** Acknowledges the findings of {@link ACKNOWLEDGEMENTS} in a construct and its children. */
export function acknowledgeFindings(construct: IConstruct): void {
  for (const child of construct.node.findAll()) {
    for (const { rules, at, reason } of Object.values(ACKNOWLEDGEMENTS)) {
      if (at(child)) Validations.of(child).acknowledge(...rules.map((id) => ({ id, reason })));
    }
  }
}
