/**
 * A queue that feeds a function hides a message for at least so many of the function's timeouts
 * (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html): a batch that Lambda throttles for a
 * while must not come again before it has been tried.
 */
export const VISIBILITY_FACTOR = 6;
