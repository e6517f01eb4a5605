/** Actions that no code of ours calls: AWS does, with the function's role. */
export interface PlatformUse {
  readonly actions: readonly string[];
  /** What they are allowed on, as a construct path or an ARN. */
  readonly on: RegExp;
  /** Who calls, and what for. */
  readonly reason: string;
}

/** With these Lambda places a function in a VPC. */
export const NETWORK_INTERFACES: readonly string[] = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

/** Everything that a function's role allows for AWS's own calls. */
export const PLATFORM: readonly PlatformUse[] = [
  {
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    on: /\/logs\.Arn$/,
    reason: 'Lambda writes what the function logs',
  },
  {
    actions: ['sqs:SendMessage'],
    on: /\/failures\.Arn$/,
    reason: 'Lambda sends what the function could not do to its failure destination',
  },
  {
    actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
    on: /^\*$/,
    reason: 'Lambda sends the traces of the invocations',
  },
  {
    actions: [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ],
    on: /\.StreamArn$/,
    reason: "Lambda reads the table's stream for the event source mapping",
  },
  {
    actions: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
    on: /\/queue\.Arn$/,
    reason: 'Lambda reads the queue for the event source mapping',
  },
  {
    actions: NETWORK_INTERFACES,
    on: /^\*$/,
    reason: 'Lambda places the function in the VPC',
  },
  {
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    on: /:key\//,
    reason: 'SQS encrypts the messages, or Secrets Manager decrypts the secret, on behalf of the function',
  },
  {
    actions: ['execute-api:Invoke'],
    on: /:execute-api:/,
    reason: 'the requests that `add_signature` signs, crates/lifo-queue/src/runner/http/auth.rs',
  },
];

/** The reason why an action is allowed on a resource though no code calls it, if there is one. */
export function platformUse(action: string, resource: string): string | undefined {
  return PLATFORM.find(({ actions, on }) => actions.includes(action) && on.test(resource))?.reason;
}
