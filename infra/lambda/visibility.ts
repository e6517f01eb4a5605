/**
 * A queue that feeds a function hides a message for at least this many of the function's timeouts
 * (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html): SQS must not redeliver a batch
 * that Lambda throttles before its first attempt.
 */
export const VISIBILITY_FACTOR = 6;
