import { createHash } from 'node:crypto';
import { Aws } from 'aws-cdk-lib';
import type { CfnTable, Table } from 'aws-cdk-lib/aws-dynamodb';
import {
  type AddToResourcePolicyResult,
  Grant,
  type IGrantable,
  type IPrincipal,
  type IResourceWithPolicyV2,
  PrincipalWithConditions,
} from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';

/**
 * Condition keys by which a statement names the source on whose behalf a service acts
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html).
 */
const SOURCES = /^aws:(Source(Account|Arn|Org(ID|Paths))|PrincipalOrgID)$/i;

/**
 * Lets a principal send messages to a queue. A service, an account or a role of another account gets a statement in
 * the queue's policy.
 */
export function grantSending(queue: Queue, grantee: IGrantable): Grant {
  return Grant.addToPrincipalOrResource({
    grantee: ofThisAccount(grantee),
    actions: ['sqs:SendMessage'],
    resourceArns: [queue.queueArn],
    resource: queue,
  });
}

/** Lets a principal invoke a function. A service, an account or a role of another account gets a Lambda permission. */
export function grantInvoking(fn: LambdaFunction, grantee: IGrantable): Grant {
  const principal = ofThisAccount(grantee).grantPrincipal;
  const resource: IResourceWithPolicyV2 = {
    env: fn.env,
    addToResourcePolicy: () => addPermission(fn, principal),
  };
  return Grant.addToPrincipalOrResource({
    grantee: principal,
    actions: ['lambda:InvokeFunction'],
    resourceArns: [fn.functionArn],
    resource,
  });
}

/**
 * Lets a principal put items into a table under `conditions`. An account or a role of another account gets a statement
 * in the table's policy.
 *
 * Throws for a service: no AWS service puts an item with its own principal.
 */
export function grantPutting(
  table: Table,
  grantee: IGrantable,
  conditions: Record<string, Record<string, unknown>>,
): Grant {
  if (servicesOf(grantee.grantPrincipal).length > 0) {
    throw new Error(
      `${table.node.path} cannot grant puts to a service: AWS services do not put items with their own principal. Remedy: grant the role that the service assumes, or use grantSend.`,
    );
  }
  const grant = Grant.addToPrincipalOrResource({
    grantee,
    actions: ['dynamodb:PutItem'],
    resourceArns: [table.tableArn],
    // In a table's policy, * means this table. Its ARN would be a circular reference.
    resourceSelfArns: ['*'],
    resource: table,
    conditions,
  });
  const policy = table.stack.resolve((table.node.defaultChild as CfnTable).resourcePolicy);
  if (grant.resourceStatement !== undefined && policy === undefined) {
    throw new Error(
      `${table.node.path} cannot grant puts to another account: this version of aws-cdk-lib omits the policy of a table. Remedy: update aws-cdk-lib, or use grantSend.`,
    );
  }
  return grant;
}

/**
 * Returns the grantee. A service without a source gets the condition that it acts on behalf of this account; otherwise,
 * any customer of the service could use the permission.
 */
function ofThisAccount(grantee: IGrantable): IGrantable {
  const principal = grantee.grantPrincipal;
  if (servicesOf(principal).length === 0) return grantee;
  const conditions = Object.values(principal.policyFragment.conditions as Record<string, object>);
  const named = conditions.flatMap(Object.keys).some((key) => SOURCES.test(key));
  if (named) return grantee;
  return new PrincipalWithConditions(principal, { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } });
}

/** Returns the services of a principal. Only a principal without an account can be a service. */
function servicesOf(principal: IPrincipal): readonly string[] {
  // A managed policy is a principal too, but has no fragment.
  if (principal.principalAccount !== undefined) return [];
  return [principal.policyFragment.principalJson.Service ?? []].flat();
}

function addPermission(fn: LambdaFunction, principal: IPrincipal): AddToResourcePolicyResult {
  const { principalJson, conditions } = principal.policyFragment;
  const text = JSON.stringify(fn.stack.resolve([principalJson, conditions]));
  const id = `invoked-by-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  if (fn.permissionsNode.tryFindChild(id) === undefined) fn.addPermission(id, { principal });
  return { statementAdded: true, policyDependable: fn.permissionsNode.findChild(id) };
}
