import { CfnResource, Stack } from 'aws-cdk-lib';
import {
  AccountRootPrincipal,
  AnyPrincipal,
  ManagedPolicy,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
  WebIdentityPrincipal,
} from 'aws-cdk-lib/aws-iam';
import { CfnTopicRule } from 'aws-cdk-lib/aws-iot';
import { Code, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { newApp, Synthesized } from '../synthesis';
import { TEMPLATES } from './cases';
import * as rules from './rules';
import { everyStatement } from './statements';
import { reasonFor, WILDCARD_RESOURCES } from './wildcards';

describe.each(TEMPLATES)('%s', (_name, template) => {
  test.each(
    Object.entries(rules).filter((each): each is [string, rules.Rule] => typeof each[1] === 'function'),
  )('%s', (_rule, breaks) => {
    expect(breaks(template)).toEqual([]);
  });

  test('has policy statements of every expected kind', () => {
    const kinds = everyStatement(template).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['identity', 'trust']));
    // Only stacks with queues have resource policies: queue policies and topic policies.
    const guarded = template.all('AWS::SQS::Queue').length > 0;
    expect(kinds.includes('resource')).toBe(guarded);
  });
});

test('every documented wildcard is used', () => {
  const allowed = TEMPLATES.flatMap(([, template]) => everyStatement(template)).flatMap(
    ({ actions, resources }) => actions.flatMap((action) => resources.map((on) => reasonFor(action, on))),
  );
  for (const { reason } of WILDCARD_RESOURCES) expect(allowed).toContain(reason);
});

/** Returns a rule's findings in a template with the resources that `build` creates. */
function found(rule: rules.Rule, build: (stack: Stack) => void): string[] {
  const stack = new Stack(newApp(), 'test');
  build(stack);
  return rule(new Synthesized(stack));
}

function role(stack: Stack): Role {
  return new Role(stack, 'role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
}

function fn(
  stack: Stack,
  id = 'fn',
  props: { recursiveLoop?: RecursiveLoop; role?: Role } = {},
): LambdaFunction {
  return new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => {};'),
    ...props,
  });
}

const READ = {
  actions: ['dynamodb:GetItem'],
  resources: ['arn:aws:dynamodb:eu-west-1:123456789012:table/t'],
};

describe('a rule finds', () => {
  test.each<[string, rules.Rule, (stack: Stack) => void, string]>([
    [
      'a wildcard action of a role',
      rules.namesActions,
      (stack) => void role(stack).addToPolicy(new PolicyStatement({ ...READ, actions: ['dynamodb:Get*'] })),
      'role/DefaultPolicy: dynamodb:Get*',
    ],
    [
      'a wildcard action of a managed policy',
      rules.namesActions,
      (stack) =>
        void new ManagedPolicy(stack, 'managed', {
          statements: [new PolicyStatement({ ...READ, actions: ['*'] })],
          roles: [role(stack)],
        }),
      'managed: *',
    ],
    [
      'a wildcard action of an inline policy',
      rules.namesActions,
      (stack) =>
        void new Role(stack, 'role', {
          assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
          inlinePolicies: {
            all: new PolicyDocument({ statements: [new PolicyStatement({ ...READ, actions: ['sqs:*'] })] }),
          },
        }),
      'role: sqs:*',
    ],
    [
      'a policy of an unexpected kind of resource',
      rules.namesActions,
      (stack) =>
        void new CfnResource(stack, 'vault', {
          type: 'AWS::Backup::BackupVault',
          properties: {
            BackupVaultName: 'v',
            AccessPolicy: {
              Statement: { Effect: 'Allow', Action: 'backup:*', Resource: '*', Principal: '*' },
            },
          },
        }),
      'vault: backup:*',
    ],
    [
      'all actions except one',
      rules.namesActions,
      (stack) =>
        void role(stack).addToPolicy(
          new PolicyStatement({ notActions: ['iam:PassRole'], resources: READ.resources }),
        ),
      'role/DefaultPolicy: NotAction',
    ],
    [
      'a wildcard resource',
      rules.namesResources,
      (stack) => void role(stack).addToPolicy(new PolicyStatement({ ...READ, resources: ['*'] })),
      'role/DefaultPolicy: dynamodb:GetItem on *',
    ],
    [
      'a wildcard in the middle of a resource',
      rules.namesResources,
      (stack) =>
        void role(stack).addToPolicy(
          new PolicyStatement({
            actions: ['secretsmanager:GetSecretValue'],
            resources: ['arn:x:secret:*-??????'],
          }),
        ),
      'role/DefaultPolicy: secretsmanager:GetSecretValue on arn:x:secret:*-??????',
    ],
    [
      'a queue to which any principal can send',
      rules.letsInOnlyServices,
      (stack) => void new Queue(stack, 'mine').grantSendMessages(new AnyPrincipal()),
      'mine/Policy: {"AWS":"*"}',
    ],
    [
      'a queue to which SNS can send on behalf of any account',
      rules.letsInOnlyServices,
      (stack) => void new Queue(stack, 'mine').grantSendMessages(new ServicePrincipal('sns.amazonaws.com')),
      'mine/Policy: {"Service":"sns.amazonaws.com"}',
    ],
    [
      'a function that any topic can invoke',
      rules.permissionsNameTheirSource,
      (stack) => fn(stack).addPermission('all', { principal: new ServicePrincipal('sns.amazonaws.com') }),
      'fn/all',
    ],
    [
      'a role for the whole account',
      rules.trustsOnlyItsServices,
      (stack) => void new Role(stack, 'role', { assumedBy: new AccountRootPrincipal() }),
      'role: {"AWS":',
    ],
    [
      "a role for another account's schedules",
      rules.trustsOnlyItsServices,
      (stack) => void new Role(stack, 'role', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') }),
      'role: {"Service":"scheduler.amazonaws.com"}',
    ],
    [
      "a role for any group's schedules",
      rules.trustsOnlyItsServices,
      (stack) =>
        void new Role(stack, 'role', {
          assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
            conditions: { StringEquals: { 'aws:SourceAccount': '123456789012' } },
          }),
        }),
      'role: {"Service":"scheduler.amazonaws.com"}',
    ],
    [
      'a role for any branch that names the environment',
      rules.trustsOnlyItsServices,
      (stack) =>
        void new Role(stack, 'role', {
          assumedBy: new WebIdentityPrincipal('arn:aws:iam::123456789012:oidc-provider/github', {
            StringEquals: {
              'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
              'token.actions.githubusercontent.com:sub': 'repo:octo-org/freshq:environment:prod',
            },
          }),
        }),
      'role: {"Federated":',
    ],
    [
      "a role that lets a function's code place it in a VPC",
      rules.keepsInterfacesFromCode,
      (stack) =>
        void role(stack).addToPolicy(
          new PolicyStatement({ actions: ['ec2:CreateNetworkInterface'], resources: ['*'] }),
        ),
      'role: ec2:CreateNetworkInterface',
    ],
    [
      'a role for any job of any repository',
      rules.trustsOnlyItsServices,
      (stack) =>
        void new Role(stack, 'role', {
          assumedBy: new WebIdentityPrincipal('arn:aws:iam::123456789012:oidc-provider/github', {
            StringEquals: { 'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com' },
            StringLike: { 'token.actions.githubusercontent.com:sub': 'repo:octo-org/*' },
          }),
        }),
      'role: {"Federated":',
    ],
    [
      'two functions with one role',
      rules.sharesNoRole,
      (stack) => {
        const shared = role(stack);
        for (const id of ['one', 'two']) fn(stack, id, { role: shared });
      },
      'role.Arn',
    ],
    [
      'a topic that accepts plain HTTP',
      rules.topicsAreTlsOnly,
      (stack) => void new Topic(stack, 'topic'),
      'topic',
    ],
    [
      'a topic that is not encrypted',
      rules.topicsAreEncrypted,
      (stack) => void new Topic(stack, 'topic'),
      'topic',
    ],
    ['a function without a failure queue', rules.functionsKeepFailures, (stack) => void fn(stack), 'fn'],
    [
      'a schedule without a failure queue',
      rules.schedulesKeepFailures,
      (stack) =>
        void new CfnSchedule(stack, 'schedule', {
          flexibleTimeWindow: { mode: 'OFF' },
          scheduleExpression: 'rate(1 minute)',
          target: { arn: fn(stack).functionArn, roleArn: role(stack).roleArn },
        }),
      'schedule',
    ],
    [
      'an IoT rule without an error action',
      rules.iotRulesKeepFailures,
      (stack) =>
        void new CfnTopicRule(stack, 'rule', { topicRulePayload: { sql: "SELECT * FROM 'a'", actions: [] } }),
      'rule',
    ],
    ['a function whose log group does not exist', rules.logsToOwnGroup, (stack) => void fn(stack), 'fn'],
    [
      'a function without loop detection',
      rules.onlyTheLoopLoops,
      (stack) => void fn(stack, 'fn', { recursiveLoop: RecursiveLoop.ALLOW }),
      'fn: Allow',
    ],
  ])('%s', (_what, rule, build, finding) => {
    expect(found(rule, build)).toEqual([expect.stringContaining(finding)]);
  });
});
