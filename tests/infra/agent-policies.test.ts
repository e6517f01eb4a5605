import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { AgentQueue } from '../../infra/agents/agent-queue';
import type { AgentSettings } from '../../infra/agents/settings';
import { newApp, type Statement, Synthesized } from './synthesis';

function allow(actions: string[], resources: string[]): Statement {
  return { effect: 'Allow', actions, resources };
}

// After answerWithin was removed, the sweep still returns the calls that agents have not answered.
test('the permissions of the sweep are independent of answerWithin', () => {
  const policy = (agents: AgentSettings) => Synthesized.agentQueue({ agents }).policy('sweep-agents/role');
  expect(policy({})).toEqual(policy({ answerWithin: Duration.seconds(20) }));
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
