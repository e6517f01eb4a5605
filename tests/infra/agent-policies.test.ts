import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { AgentQueue } from '../../infra/agents/agent-queue';
import type { AgentSettings } from '../../infra/agents/settings';
import { newApp, type Statement, Synthesized } from './synthesis';

const prod = Synthesized.agents('prod');

function allow(actions: string[], resources: string[]): Statement {
  return { effect: 'Allow', actions, resources };
}

/** Permissions of every function: its logs, traces and failure queue, the table of agents, and the assignment topic. */
function everyFunction(name: string): Statement[] {
  return [
    allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [`${name}/logs.Arn`]),
    allow(['sqs:SendMessage'], [`${name}/failures.Arn`]),
    allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']),
    allow(
      [
        'dynamodb:BatchWriteItem',
        'dynamodb:DeleteItem',
        'dynamodb:GetItem',
        'dynamodb:PutItem',
        'dynamodb:Query',
        'dynamodb:UpdateItem',
      ],
      ['agent-table.Arn'],
    ),
    allow(['sns:Publish'], ['assignment-topic']),
  ];
}

const DEAD_LETTERS = allow(['sqs:SendMessage'], ['call-intake/dead-letters.Arn']);

const MORE: Record<string, Statement[]> = {
  'agent-desk': [],
  'match-calls': [
    DEAD_LETTERS,
    allow(
      ['sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
      ['call-intake/queue.Arn'],
    ),
  ],
  'sweep-agents': [DEAD_LETTERS],
};

test.each(Object.keys(MORE))('%s may do its work and nothing else', (name) => {
  expect(prod.policy(`${name}/role`)).toEqual([...everyFunction(name), ...(MORE[name] ?? [])]);
});

// After answerWithin was removed, the sweep still returns the calls that agents have not answered.
test('the permissions of the sweep are independent of answerWithin', () => {
  const policy = (agents: AgentSettings) => Synthesized.agentQueue({ agents }).policy('sweep-agents/role');
  expect(policy({})).toEqual(policy({ answerWithin: Duration.seconds(20) }));
});

test('the schedule of the sweep may invoke the sweep and nothing else', () => {
  expect(prod.policy('sweep-agents/regularly/role')).toEqual([
    allow(['lambda:InvokeFunction'], ['sweep-agents/function.Arn']),
    allow(['sqs:SendMessage'], ['sweep-agents/regularly/undelivered.Arn']),
  ]);
});

test('there are no other policies, X-Ray is the only wildcard, and nothing else may invoke a function', () => {
  const policies = prod.all('AWS::IAM::Policy');
  expect(policies).toHaveLength(Object.keys(MORE).length + 1);
  const wide = policies
    .flatMap((policy) => prod.statements(policy))
    .filter(({ resources, actions }) => [...resources, ...actions].some((part) => part.includes('*')));
  for (const { actions } of wide)
    expect(actions).toEqual(['xray:PutTraceSegments', 'xray:PutTelemetryRecords']);
  expect(wide).toHaveLength(Object.keys(MORE).length);
  expect(prod.all('AWS::Lambda::Permission')).toEqual([]);
});

function granted(grant: (queue: AgentQueue, role: Role) => void): Statement[] {
  const stack = new Stack(newApp(), 'test');
  const queue = new AgentQueue(stack, 'queue');
  grant(queue, new Role(stack, 'caller', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') }));
  return new Synthesized(stack, 'test').policy('caller');
}

test('grantDesk lets a principal invoke agent-desk and nothing else', () => {
  expect(granted((queue, role) => queue.grantDesk(role).assertSuccess())).toEqual([
    allow(['lambda:InvokeFunction'], ['queue/agent-desk/function.Arn']),
  ]);
});

test('grantEnqueueCall lets a principal send calls and nothing else', () => {
  expect(granted((queue, role) => queue.grantEnqueueCall(role).assertSuccess())).toEqual([
    allow(['sqs:SendMessage'], ['queue/call-intake/queue.Arn']),
  ]);
});
