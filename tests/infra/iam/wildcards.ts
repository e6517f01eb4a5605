/** Why actions are allowed on a resource with `*` or `?` in its name. */
export interface WildcardReason {
  readonly actions: readonly string[];
  /** The resource as it stands in the statement, from its first wildcard on. */
  readonly ending: string;
  readonly reason: string;
}

/** Every wildcard in a resource that a role of this repository may have. */
export const WILDCARD_RESOURCES: readonly WildcardReason[] = [
  {
    actions: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'],
    ending: '*',
    reason: 'X-Ray knows no resources for these actions',
  },
  {
    actions: [
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ],
    ending: '*',
    reason: 'Lambda places a function in a VPC with these, before there is an interface to name',
  },
  {
    actions: ['secretsmanager:GetSecretValue'],
    ending: '??????',
    reason:
      'Secrets Manager ends the ARN of a secret with six characters of its own; the name is given in full',
  },
];

/** The reason for a wildcard in `resource` for `action`, if there is one. */
export function reasonFor(action: string, resource: string): string | undefined {
  const [ending] = /[*?].*$/.exec(resource) ?? [];
  return WILDCARD_RESOURCES.find((each) => each.actions.includes(action) && each.ending === ending)?.reason;
}
