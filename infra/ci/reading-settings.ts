import { ArnFormat, type Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * What `make smoke ENV=…` needs beyond describing the stacks and their alarms: the settings of their functions, event
 * sources, schedules and tables. Nothing invokes a function, and no data of a task, a message or a log can be read.
 *
 * @param stacks the names of the stacks, with which the names of all that they made begin
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
    // The id of an event source says nothing about its function.
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
