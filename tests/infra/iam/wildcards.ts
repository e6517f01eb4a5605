/** With these Lambda places a function in a VPC. */
export const NETWORK_INTERFACES: readonly string[] = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

/** Why actions are allowed on a resource with `*` or `?` in its name. */
export interface WildcardReason {
  readonly actions: readonly string[];
  /** The resource as it stands in the statement. */
  readonly resource: RegExp;
  /** The same for a reader. */
  readonly says: string;
  readonly reason: string;
}

/** Every wildcard in a resource that a role of this repository may have. */
export const WILDCARD_RESOURCES: readonly WildcardReason[] = [
  {
    actions: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'],
    resource: /^\*$/,
    says: '*',
    reason: 'X-Ray knows no resources for these actions',
  },
  {
    actions: NETWORK_INTERFACES,
    resource: /^\*$/,
    says: '*',
    reason: 'Lambda places a function in a VPC with these, before there is an interface to name',
  },
  {
    actions: ['secretsmanager:GetSecretValue'],
    resource: /:secret:[^*?]+-\?{6}$/,
    says: 'secret:<name>-??????',
    reason:
      'Secrets Manager ends the ARN of a secret with six characters of its own; the name is given in full',
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
      "GitHub's roles: CloudFormation ends the ARN of a stack with an id that is unknown before its creation; pull requests may read personal stacks too",
  },
  {
    actions: ['cloudwatch:DescribeAlarms'],
    resource: /:alarm:(LifoQueue|AgentQueue)-[\w-]+-\*$/,
    says: 'alarm:<queue>-<environment>-*',
    reason: "GitHub's roles: CloudFormation names the alarms, each after its stack",
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
      "GitHub's roles read the settings that `make smoke` compares; CloudFormation names these resources after their stack",
  },
  {
    actions: ['lambda:GetEventSourceMapping'],
    resource: /:event-source-mapping:\*$/,
    says: 'event-source-mapping:*',
    reason:
      "GitHub's roles read the event sources of an environment's functions; a condition names these functions, the source's id does not",
  },
];

/** The reason for a wildcard in `resource` for `action`, if there is one. */
export function reasonFor(action: string, resource: string): string | undefined {
  return WILDCARD_RESOURCES.find((each) => each.actions.includes(action) && each.resource.test(resource))
    ?.reason;
}
