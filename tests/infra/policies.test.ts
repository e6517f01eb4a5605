import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { TABLE as TABLE_CONTRACT } from '../../infra/contract/tasks';
import { LifoQueue, type LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { RESERVED_PREFIX } from '../../infra/tasks/task-table';
import { newApp, ROOT, type Statement, Synthesized } from './synthesis';

function allow(actions: string[], resources: string[], conditions?: unknown): Statement {
  return { effect: 'Allow', actions, resources, ...(conditions !== undefined && { conditions }) };
}

test.each(['process-tasks', 'sweep-tasks'])(
  '%s may also read the item of groups if there are groups',
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

test('grantCreate lets a principal invoke create-tasks and nothing else', () => {
  const stack = new Stack(newApp(), 'test');
  const queue = new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated() });
  const role = new Role(stack, 'writer', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  const grant = queue.grantCreate(role);
  grant.assertSuccess();
  const synthesized = new Synthesized(stack, 'test');
  expect(synthesized.policy('writer')).toEqual([
    allow(['lambda:InvokeFunction'], ['queue/create-tasks/function.Arn']),
  ]);
});

describe('grantPut', () => {
  const granted = (allowDirectWrites: boolean) => {
    const stack = new Stack(newApp(), 'test');
    const queue = new LifoQueue(stack, 'queue', {
      runner: TaskRunner.simulated(),
      tasks: { allowDirectWrites, maxTtl: Duration.days(2) },
    });
    const role = new Role(stack, 'writer', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
    queue.grantPut(role).assertSuccess();
    return new Synthesized(stack, 'test').policy('writer');
  };

  test("lets a principal put tasks, and neither the queue's own items nor anything else", () => {
    expect(granted(true)).toEqual([
      allow(['dynamodb:PutItem'], ['queue/task-table/table.Arn'], {
        'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['#*'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      }),
    ]);
  });

  test('is rejected where the settings promise that there are no such writers', () => {
    expect(() => granted(false)).toThrow(/tasks\.allowDirectWrites = false.*Remedy: use grantCreate/);
  });

  test("knows the prefix of the queue's own items as the code does", () => {
    const schema = readFileSync(join(ROOT, 'crates', 'lifo-queue', 'src', 'schema.rs'), 'utf8');
    expect(schema).toContain(`RESERVED_PREFIX: char = '${RESERVED_PREFIX}';`);
    expect(TABLE_CONTRACT.controlItem.startsWith(RESERVED_PREFIX)).toBe(true);
  });
});
