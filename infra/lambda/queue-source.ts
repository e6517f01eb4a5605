import { EventSourceMapping, type EventSourceMappingOptions } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { RustFunction } from './rust-function';

/** Actions of Lambda's pollers, which use the function's role. */
const POLLING = ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'];

export interface QueueSourceOptions
  extends Pick<EventSourceMappingOptions, 'batchSize' | 'maxBatchingWindow' | 'maxConcurrency'> {
  /** Actions of the function on the queue, in addition to those of Lambda's pollers. */
  readonly also?: readonly string[];
}

/** Invokes `target` with batches of `queue`. SQS redelivers only the messages that the function's response names. */
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
  // Lambda rejects the mapping if the role's policy does not allow reading the queue yet.
  if (target.function.role !== undefined) mapping.node.addDependency(target.function.role);
  return mapping;
}
