import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { type Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { TABLE as TABLE_CONTRACT } from '../../infra/contract/tasks';
import { LifoQueue, type LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { RESERVED_PREFIX } from '../../infra/tasks/task-table';
import { newApp, ROOT, type Statement, Synthesized } from './synthesis';

function allow(actions: string[], resources: string[], conditions?: unknown): Statement {
  return { effect: 'Allow', actions, resources, ...(conditions !== undefined && { conditions }) };
}

test.each(['process-tasks', 'sweep-tasks'])(
  '%s can also read the groups item if the queue has groups',
  (name) => {
    const policy = (props: Partial<LifoQueueProps>) => Synthesized.queue(props).policy(`${name}/role`);
    const groupsItem = {
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['#groups'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    };
    const more = policy({ processing: { groups: {} } });
    expect(
      more.filter(({ conditions }) => JSON.stringify(conditions) === JSON.stringify(groupsItem)),
    ).toEqual([allow(['dynamodb:GetItem'], ['task-table/table.Arn'], groupsItem)]);
    expect(more).toHaveLength(policy({}).length + 1);
  },
);

/** Returns the policy of a principal that receives a grant in a stack. */
function granted(grant: (stack: Stack, role: Role) => Grant): Statement[] {
  const stack = new Stack(newApp(), 'test');
  const role = new Role(stack, 'principal', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  grant(stack, role).assertSuccess();
  return new Synthesized(stack, 'test').policy('principal');
}

function taskQueue(stack: Stack, props: Partial<LifoQueueProps> = {}): LifoQueue {
  return new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), ...props });
}

test.each<[string, (stack: Stack, role: Role) => Grant, action: string, resource: string]>([
  [
    'grantCreate',
    (stack, role) => taskQueue(stack).grantCreate(role),
    'lambda:InvokeFunction',
    'create-tasks/function',
  ],
  [
    'grantSend',
    (stack, role) => taskQueue(stack, { ingest: {} }).grantSend(role),
    'sqs:SendMessage',
    'ingest/queue',
  ],
  [
    'grantDesk',
    (stack, role) => new AgentQueue(stack, 'queue').grantDesk(role),
    'lambda:InvokeFunction',
    'agent-desk/function',
  ],
  [
    'grantEnqueueCall',
    (stack, role) => new AgentQueue(stack, 'queue').grantEnqueueCall(role),
    'sqs:SendMessage',
    'call-intake/queue',
  ],
])('%s allows one action on one resource and nothing else', (_name, grant, action, resource) => {
  expect(granted(grant)).toEqual([allow([action], [`queue/${resource}.Arn`])]);
});

describe('grantPut', () => {
  const puts = (allowDirectWrites: boolean) =>
    granted((stack, role) =>
      taskQueue(stack, { tasks: { allowDirectWrites, maxTtl: Duration.days(2) } }).grantPut(role),
    );

  test("allows a principal to put tasks, but not the queue's own items, and nothing else", () => {
    expect(puts(true)).toEqual([
      allow(['dynamodb:PutItem'], ['queue/task-table/table.Arn'], {
        'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['#*'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
    ]);
  });

  test('is rejected if the settings exclude direct writes', () => {
    expect(() => puts(false)).toThrow(/tasks\.allowDirectWrites = false.*Remedy: use grantCreate/);
  });

  test("uses the same prefix for the queue's own items as the Rust code", () => {
    const schema = readFileSync(join(ROOT, 'crates', 'lifo-queue', 'src', 'schema.rs'), 'utf8');
    expect(schema).toContain(`RESERVED_PREFIX: char = '${RESERVED_PREFIX}';`);
    expect(TABLE_CONTRACT.controlItem.startsWith(RESERVED_PREFIX)).toBe(true);
  });
});
