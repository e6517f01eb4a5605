import { EventSourceMapping, type EventSourceMappingOptions } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { acknowledge } from './nag-suppressions';
import type { RustFunction } from './rust-function';

/** What Lambda's pollers do with the function's role. */
const POLLING = ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'];

/** How a function reads a queue. */
export interface QueueSourceOptions
  extends Pick<EventSourceMappingOptions, 'batchSize' | 'maxBatchingWindow' | 'maxConcurrency'> {
  /** What the function itself does to the queue, beside what Lambda's pollers do. */
  readonly also?: readonly string[];
}

/** Invokes `target` with batches of `queue`. SQS redelivers only the messages that its answer names. */
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
  acknowledge(mapping, 'queueSource');
  // Lambda rejects a mapping whose function may not read the queue yet.
  if (target.function.role !== undefined) mapping.node.addDependency(target.function.role);
  return mapping;
}
