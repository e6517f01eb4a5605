/**
 * Minimum ratio of a queue's visibility timeout to the timeout of the function that reads the queue
 * (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html). With a lower ratio, SQS could redeliver a
 * throttled batch before its first attempt.
 */
export const VISIBILITY_FACTOR = 6;
