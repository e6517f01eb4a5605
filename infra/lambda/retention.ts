import { RemovalPolicy } from 'aws-cdk-lib';

/**
 * Removal policy of a queue or a log group. If `policy` is `RETAIN`, CloudFormation keeps the resource when the stack
 * is deleted or the resource is removed from it, but deletes it when its creation is rolled back. `RETAIN` alone would
 * leave an empty resource behind. With a fixed name, this resource would make every later deployment fail.
 */
export function retainedOnceUsed(policy: RemovalPolicy): RemovalPolicy {
  return policy === RemovalPolicy.RETAIN ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : policy;
}

/**
 * Removal policy of a table. With deletion protection, the table is retained even if its creation is rolled back: DynamoDB
 * would reject its deletion, and the rollback would fail. Its generated name conflicts with no later deployment.
 */
export function tableRetention(policy: RemovalPolicy, deletionProtection: boolean): RemovalPolicy {
  return deletionProtection ? policy : retainedOnceUsed(policy);
}
