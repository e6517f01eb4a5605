import { Stack } from 'aws-cdk-lib';
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';

/**
 * Lambda's limit for the names and values of all environment variables, in bytes
 * (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
 */
const MOST_BYTES = 4_096;

/** Assumed size of a value that only CloudFormation knows, in bytes: roughly the length of an ARN or URL. */
const REFERENCE_BYTES = 100;

/**
 * Returns an error if a function's environment is too large. Counts all variables, including those that an app added to
 * the function, and estimates values that only CloudFormation knows.
 */
export function environmentSizeProblems(fn: LambdaFunction): string[] {
  const { environment } = fn.node.defaultChild as CfnFunction;
  const { variables = {} } = (Stack.of(fn).resolve(environment) ?? {}) as { variables?: object };
  const sizes = Object.entries(variables).map(
    ([name, value]) => [name, Buffer.byteLength(name) + bytesOf(value)] as const,
  );
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  if (total <= MOST_BYTES) return [];
  const largest = sizes.toSorted(([, one], [, other]) => other - one).slice(0, 3);
  return [
    `the environment variables take about ${total} bytes, and Lambda accepts ${MOST_BYTES}; the largest are ${largest.map(([name, size]) => `${name} (${size})`).join(', ')}. Remedy: shorten them, or keep large values of your own in SSM Parameter Store or S3.`,
  ];
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  const parts = (value as { 'Fn::Join'?: [string, unknown[]] })['Fn::Join']?.[1];
  return parts === undefined ? REFERENCE_BYTES : parts.reduce<number>((sum, part) => sum + bytesOf(part), 0);
}
