import { EventSourceMapping, type EventSourceMappingOptions } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { RustFunction } from './rust-function';

/** Actions that Lambda's pollers require. The pollers use the function's role. */
const POLLING = ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'];

export interface QueueSourceOptions
  extends Pick<EventSourceMappingOptions, 'batchSize' | 'maxBatchingWindow' | 'maxConcurrency'> {
  /** The function's actions on the queue, in addition to those of Lambda's pollers. */
  readonly also?: readonly string[];
}

/** Invokes `target` with batches from `queue`. SQS redelivers only the messages listed in the function's response. */
export function readQueue(
  target: RustFunction,
  id: string,
  queue: Queue,
  { also = [], ...options }: QueueSourceOptions,
): EventSourceMapping {
  target.allow([...also, ...POLLING], [queue.queueArn]);
  const mapping = new EventSourceMapping(target, id, {
    ...options,
    target: target.function,
    eventSourceArn: queue.queueArn,
    reportBatchItemFailures: true,
  });
  // Lambda rejects the mapping if the role's policy doesn't allow reading the queue yet.
  if (target.function.role !== undefined) mapping.node.addDependency(target.function.role);
  return mapping;
}
