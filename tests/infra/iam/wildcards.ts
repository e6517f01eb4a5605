/** Actions with which Lambda places a function in a VPC. */
export const NETWORK_INTERFACES: readonly string[] = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

/** The reason for allowing actions on a resource with `*` or `?` in its name. */
export interface WildcardReason {
  readonly actions: readonly string[];
  /** Pattern that matches the resource in the statement. */
  readonly resource: RegExp;
  /** The resource in readable form. */
  readonly says: string;
  readonly reason: string;
}

/** All wildcards that a role's resources can contain. */
export const WILDCARD_RESOURCES: readonly WildcardReason[] = [
  {
    actions: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'],
    resource: /^\*$/,
    says: '*',
    reason: 'X-Ray has no resources for these actions',
  },
  {
    actions: NETWORK_INTERFACES,
    resource: /^\*$/,
    says: '*',
    reason: 'Lambda uses these to place a function in a VPC, before an interface exists that could be named',
  },
  {
    actions: ['secretsmanager:GetSecretValue'],
    resource: /:secret:[^*?]+-\?{6}$/,
    says: 'secret:<name>-??????',
    reason: 'Secrets Manager appends six random characters to the ARN of a secret; the name is given in full',
  },
  {
    actions: [
      'cloudformation:DescribeStacks',
      'cloudformation:GetTemplate',
      'cloudformation:ListStackResources',
    ],
    resource: /:stack\/(LifoQueue|AgentQueue)-(\*|[\w-]+)\/\*$/,
    says: 'stack/<queue>-<environment>/*',
    reason:
      "GitHub's roles: the ARN of a stack ends with an id that is unknown before its creation; pull requests may read personal stacks too",
  },
  {
    actions: ['cloudwatch:DescribeAlarms'],
    resource: /:alarm:(LifoQueue|AgentQueue)-[\w-]+-\*$/,
    says: 'alarm:<queue>-<environment>-*',
    reason:
      "GitHub's roles: CloudFormation generates the names of alarms, which begin with the name of the stack",
  },
  {
    actions: [
      'dynamodb:DescribeContinuousBackups',
      'dynamodb:DescribeTable',
      'dynamodb:DescribeTimeToLive',
      'lambda:GetFunctionConcurrency',
      'lambda:GetFunctionConfiguration',
      'lambda:GetFunctionRecursionConfig',
      'scheduler:GetSchedule',
    ],
    resource: /:(function:|table\/|schedule\/default\/)(LifoQueue|AgentQueue)-[\w-]+-\*$/,
    says: '<function, table or schedule> <queue>-<environment>-*',
    reason:
      "GitHub's roles read the settings that `make smoke` compares; CloudFormation generates their names, which begin with the name of the stack",
  },
  {
    actions: ['lambda:GetEventSourceMapping'],
    resource: /:event-source-mapping:\*$/,
    says: 'event-source-mapping:*',
    reason:
      "GitHub's roles read the event sources of an environment's functions; a condition limits them to these functions, because the id of a source does not contain the function",
  },
];

/** Returns the reason for a wildcard in `resource` for `action`, if any. */
export function reasonFor(action: string, resource: string): string | undefined {
  return WILDCARD_RESOURCES.find((each) => each.actions.includes(action) && each.resource.test(resource))
    ?.reason;
}
