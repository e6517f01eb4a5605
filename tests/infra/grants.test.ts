import { Stack } from 'aws-cdk-lib';
import {
  AccountPrincipal,
  ArnPrincipal,
  type Grant,
  type IGrantable,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, Synthesized } from './synthesis';

const THEIR_ACCOUNT = '222222222222';
const THEIR_ROLE = `arn:aws:iam::${THEIR_ACCOUNT}:role/producer`;
const ON_BEHALF_OF_THIS_ACCOUNT = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } };

/** Principals without a policy in the stack. A grant to them needs a policy of the resource. */
const PRINCIPALS: readonly (readonly [name: string, of: (stack: Stack) => IGrantable, principal: unknown])[] =
  [
    [
      'another account',
      () => new AccountPrincipal(THEIR_ACCOUNT),
      {
        AWS: {
          'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:iam::${THEIR_ACCOUNT}:root`]],
        },
      },
    ],
    ['an ARN of another account', () => new ArnPrincipal(THEIR_ROLE), { AWS: THEIR_ROLE }],
    [
      'an imported role of another account',
      (stack) => Role.fromRoleArn(stack, 'theirs', THEIR_ROLE),
      { AWS: THEIR_ROLE },
    ],
  ];
const SERVICE = new ServicePrincipal('events.amazonaws.com');

/** Synthesizes a stack after a grant to a principal. */
function granted(of: (stack: Stack) => Grant): Synthesized {
  const stack = new Stack(newApp(), 'test');
  of(stack).assertSuccess();
  return new Synthesized(stack);
}

const tasks = (stack: Stack) => new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), ingest: {} });
const agents = (stack: Stack) => new AgentQueue(stack, 'queue');

describe.each<[string, (stack: Stack, grantee: IGrantable) => Grant, queue: string]>([
  ['grantSend', (stack, grantee) => tasks(stack).grantSend(grantee), 'ingest/queue'],
  ['grantEnqueueCall', (stack, grantee) => agents(stack).grantEnqueueCall(grantee), 'call-intake/queue'],
])('%s', (_name, grant, queue) => {
  const sends = (template: Synthesized) =>
    template
      .statements(template.at(`${queue}/Policy`))
      .filter(({ effect, actions }) => effect === 'Allow' && actions.includes('sqs:SendMessage'));

  test.each(PRINCIPALS)('lets %s send by the policy of the queue', (_principal, of, principal) => {
    expect(sends(granted((stack) => grant(stack, of(stack))))).toEqual([
      { effect: 'Allow', actions: ['sqs:SendMessage'], resources: [`${queue}.Arn`], principal },
    ]);
  });

  test('lets a service send only on behalf of this account', () => {
    const [statement, ...others] = sends(granted((stack) => grant(stack, SERVICE)));
    expect(others).toEqual([]);
    expect(statement).toMatchObject({
      principal: { Service: 'events.amazonaws.com' },
      conditions: ON_BEHALF_OF_THIS_ACCOUNT,
    });
  });

  test('lets a service send on behalf of the source that the caller names', () => {
    const source = { ArnLike: { 'aws:SourceArn': `arn:aws:sns:eu-west-1:${THEIR_ACCOUNT}:topic` } };
    const [statement] = sends(granted((stack) => grant(stack, SERVICE.withConditions(source))));
    expect(statement?.conditions).toEqual(source);
  });
});

describe.each<[string, (stack: Stack, grantee: IGrantable) => Grant, fn: string]>([
  ['grantCreate', (stack, grantee) => tasks(stack).grantCreate(grantee), 'create-tasks'],
  ['grantDesk', (stack, grantee) => agents(stack).grantDesk(grantee), 'agent-desk'],
])('%s', (_name, grant, fn) => {
  const permissions = (template: Synthesized) =>
    template
      .all('AWS::Lambda::Permission')
      .map(({ Properties }) => Properties)
      .filter(({ FunctionName }) => template.readable(FunctionName) === `${fn}/function.Arn`);

  test.each(PRINCIPALS)('lets %s invoke the function', (principal, of) => {
    const found = permissions(granted((stack) => grant(stack, of(stack))));
    expect(found).toEqual([
      expect.objectContaining({
        Action: 'lambda:InvokeFunction',
        Principal: principal === 'another account' ? THEIR_ACCOUNT : THEIR_ROLE,
      }),
    ]);
  });

  test('lets a service invoke the function only on behalf of this account', () => {
    const template = granted((stack) => grant(stack, SERVICE));
    expect(permissions(template)).toEqual([
      expect.objectContaining({
        Principal: 'events.amazonaws.com',
        SourceAccount: { Ref: 'AWS::AccountId' },
      }),
    ]);
  });
});

describe('grantPut', () => {
  test.each(PRINCIPALS)('lets %s put tasks by the policy of the table', (_principal, of, principal) => {
    const template = granted((stack) => tasks(stack).grantPut(of(stack)));
    const { PolicyDocument } = template.at('task-table/table').Properties.ResourcePolicy;
    expect(PolicyDocument.Statement.map((statement: unknown) => template.statement(statement))).toEqual([
      {
        effect: 'Allow',
        actions: ['dynamodb:PutItem'],
        resources: ['*'],
        conditions: {
          'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['#*'] },
          Null: { 'dynamodb:LeadingKeys': 'false' },
        },
        principal,
      },
    ]);
  });

  test('is rejected for a service, which cannot put items', () => {
    expect(() => granted((stack) => tasks(stack).grantPut(SERVICE))).toThrow(
      'test/queue/task-table/table cannot grant puts to a service: AWS services do not put items with their own principal. Remedy: grant the role that the service assumes, or use grantSend.',
    );
  });
});
