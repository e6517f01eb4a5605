import { RemovalPolicy } from 'aws-cdk-lib';

/**
 * The policy of a queue or a log group that `policy` retains: CloudFormation keeps it when the stack is deleted or the
 * resource is removed from it, and deletes it when the operation that creates it is rolled back. `RETAIN` alone would
 * leave an empty resource behind, and one with a fixed name would make every later deployment fail.
 */
export function retainedOnceUsed(policy: RemovalPolicy): RemovalPolicy {
  return policy === RemovalPolicy.RETAIN ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : policy;
}

/**
 * The same for a table. DynamoDB rejects the deletion of a protected table, and the rollback would fail at it: a
 * protected table is retained in every case. Its name is generated, so it stands in the way of nothing.
 */
export function tableRetention(policy: RemovalPolicy, deletionProtection: boolean): RemovalPolicy {
  return deletionProtection ? policy : retainedOnceUsed(policy);
}
