import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { TABLE as TABLE_CONTRACT } from '../../infra/contract/tasks';
import { LifoQueue, type LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { RESERVED_PREFIX } from '../../infra/tasks/task-table';
import { newApp, ROOT, type Statement, Synthesized } from './synthesis';

const prod = Synthesized.environment('prod');

function allow(actions: string[], resources: string[], conditions?: unknown): Statement {
  return { effect: 'Allow', actions, resources, ...(conditions !== undefined && { conditions }) };
}

/** Permissions of every function that are not specific to its work: logs, traces and the failure queue. */
function ownLogsTracesAndFailures(name: string): Statement[] {
  return [
    allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [`${name}/logs.Arn`]),
    allow(['sqs:SendMessage'], [`${name}/failures.Arn`]),
    allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']),
  ];
}

const TABLE = 'task-table/table.Arn';
const INDEX = 'task-table/table.Arn/index/task-status-created-index';
const CONTROL_ITEM = {
  'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['#processor'] },
  Null: { 'dynamodb:LeadingKeys': 'false' },
};
const TASKS_ONLY = {
  'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['#*'] },
  Null: { 'dynamodb:LeadingKeys': 'false' },
};
const READ_STREAM = allow(
  ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
  ['task-table/table.StreamArn'],
);
const WORK: Record<string, Statement[]> = {
  'create-tasks': [allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [TABLE], TASKS_ONLY)],
  'ingest-tasks': [
    allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [TABLE], TASKS_ONLY),
    allow(['sqs:SendMessage'], ['shed-tasks.Arn']),
    allow(
      ['sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
      ['ingest/queue.Arn'],
    ),
    allow(['sqs:SendMessage'], ['ingest/dead-letters.Arn']),
  ],
  trigger: [
    allow(['dynamodb:UpdateItem'], [TABLE], CONTROL_ITEM),
    allow(['sns:Publish'], ['process-tasks-topic/topic']),
    READ_STREAM,
  ],
  'process-tasks': [
    allow(['dynamodb:Query'], [INDEX]),
    allow(['dynamodb:UpdateItem'], [TABLE]),
    allow(['dynamodb:GetItem'], [TABLE], CONTROL_ITEM),
    allow(['sns:Publish'], ['process-tasks-topic/topic', 'trigger-topic/topic']),
  ],
  'sweep-tasks': [
    allow(['dynamodb:Query'], [INDEX]),
    allow(['dynamodb:UpdateItem'], [TABLE]),
    allow(['dynamodb:GetItem'], [TABLE], CONTROL_ITEM),
    allow(['sns:Publish'], ['process-tasks-topic/topic']),
  ],
  'count-shed': [allow(['sqs:SendMessage'], ['shed-tasks.Arn']), READ_STREAM],
};

test.each(Object.keys(WORK))('%s may do its work and nothing else', (name) => {
  expect(prod.policy(`${name}/role`)).toEqual([...ownLogsTracesAndFailures(name), ...(WORK[name] ?? [])]);
});

test('count-shed may not send messages if no queue keeps shed tasks', () => {
  expect(Synthesized.queue().policy('count-shed/role')).toEqual([
    ...ownLogsTracesAndFailures('count-shed'),
    READ_STREAM,
  ]);
});

test('count-shed may use the KMS key of its queue, if there is one, and nothing else of the key', () => {
  const own = Synthesized.of((stack) => {
    const encryptionMasterKey = new Key(stack, 'key');
    return { shedTasksTo: new Queue(stack, 'mine', { encryptionMasterKey }) };
  });
  expect(own.policy('count-shed/role')).toEqual([
    ...ownLogsTracesAndFailures('count-shed'),
    allow(['sqs:SendMessage'], ['mine.Arn']),
    allow(['kms:Decrypt', 'kms:GenerateDataKey'], ['key.Arn']),
    READ_STREAM,
  ]);
});

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
    ).toEqual([allow(['dynamodb:GetItem'], [TABLE], groupsItem)]);
    expect(more).toHaveLength(policy({}).length + 1);
  },
);

test('the schedule of the sweep may invoke the sweep and nothing else', () => {
  expect(prod.policy('sweep-tasks/every-minute/role')).toEqual([
    allow(['lambda:InvokeFunction'], ['sweep-tasks/function.Arn']),
    allow(['sqs:SendMessage'], ['sweep-tasks/every-minute/undelivered.Arn']),
  ]);
});

test('the role of a schedule is for schedules of its group in this account only', () => {
  const { AssumeRolePolicyDocument } = prod.at('sweep-tasks/every-minute/role').Properties;
  expect(AssumeRolePolicyDocument.Statement).toEqual([
    {
      Action: 'sts:AssumeRole',
      Effect: 'Allow',
      Principal: { Service: 'scheduler.amazonaws.com' },
      Condition: {
        StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } },
        ArnEquals: { 'aws:SourceArn': expect.anything() },
      },
    },
  ]);
  const [{ Condition }] = AssumeRolePolicyDocument.Statement;
  expect(prod.readable(Condition.ArnEquals['aws:SourceArn'])).toMatch(
    /^arn:AWS::Partition:scheduler:AWS::Region:AWS::AccountId:schedule-group\/default$/,
  );
  expect(prod.all('AWS::Scheduler::Schedule').map(({ Properties }) => Properties.GroupName)).toEqual([
    undefined,
  ]);
});

test('there are no other policies, and X-Ray is the only wildcard', () => {
  const policies = prod.all('AWS::IAM::Policy');
  expect(policies).toHaveLength(Object.keys(WORK).length + 1);
  const wide = policies
    .flatMap((policy) => prod.statements(policy))
    .filter(({ resources, actions }) => [...resources, ...actions].some((part) => part.includes('*')));
  for (const { actions } of wide)
    expect(actions).toEqual(['xray:PutTraceSegments', 'xray:PutTelemetryRecords']);
  expect(wide).toHaveLength(Object.keys(WORK).length);
});

test('only SNS may invoke functions, each its own topic', () => {
  const permissions = prod
    .all('AWS::Lambda::Permission')
    .map(({ Properties }) => [
      prod.readable(Properties.FunctionName),
      Properties.Principal,
      prod.readable(Properties.SourceArn),
    ]);
  expect(permissions.sort()).toEqual([
    ['process-tasks/function.Arn', 'sns.amazonaws.com', 'process-tasks-topic/topic'],
    ['trigger/function.Arn', 'sns.amazonaws.com', 'trigger-topic/topic'],
  ]);
});

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
