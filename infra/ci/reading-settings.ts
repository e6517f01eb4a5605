import { ArnFormat, type Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * Returns the statements for `make smoke ENV=…` besides those for stacks and alarms. They allow reading settings of
 * functions, event sources, schedules and tables, but not invoking functions or reading tasks, messages or logs.
 *
 * @param stacks stack names, which are the prefixes of resource names
 */
export function readingSettings(
  scope: Stack,
  stacks: readonly string[],
  regions: readonly string[],
): PolicyStatement[] {
  const arns = (service: string, resource: string, arnFormat = ArnFormat.SLASH_RESOURCE_NAME) =>
    regions.flatMap((region) =>
      stacks.map((name) =>
        scope.formatArn({ service, region, resource, arnFormat, resourceName: `${name}-*` }),
      ),
    );
  const functions = arns('lambda', 'function', ArnFormat.COLON_RESOURCE_NAME);
  return [
    new PolicyStatement({
      actions: [
        'lambda:GetFunctionConcurrency',
        'lambda:GetFunctionConfiguration',
        'lambda:GetFunctionRecursionConfig',
      ],
      resources: functions,
    }),
    // The id of an event source mapping doesn't contain the function name, so a condition restricts the function.
    new PolicyStatement({
      actions: ['lambda:GetEventSourceMapping'],
      resources: regions.map((region) =>
        scope.formatArn({
          service: 'lambda',
          region,
          resource: 'event-source-mapping',
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
          resourceName: '*',
        }),
      ),
      conditions: { ArnLike: { 'lambda:FunctionArn': functions } },
    }),
    new PolicyStatement({
      actions: ['scheduler:GetSchedule'],
      resources: arns('scheduler', 'schedule/default'),
    }),
    new PolicyStatement({
      actions: [
        'dynamodb:DescribeContinuousBackups',
        'dynamodb:DescribeTable',
        'dynamodb:DescribeTimeToLive',
      ],
      resources: arns('dynamodb', 'table'),
    }),
  ];
}
