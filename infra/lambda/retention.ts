import { RemovalPolicy } from 'aws-cdk-lib';
import { BillingMode, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';

/**
 * Removal policy of a queue or a log group. If `policy` is `RETAIN`, CloudFormation retains the resource when the stack
 * is deleted or the resource is removed from it, but deletes the resource when its creation is rolled back. `RETAIN`
 * alone would leave an empty resource behind. If it had a fixed name, every later deployment would fail.
 */
export function retainedOnceUsed(policy: RemovalPolicy): RemovalPolicy {
  return policy === RemovalPolicy.RETAIN ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : policy;
}

/**
 * Removal policy of a table. With deletion protection, the table is retained even if its creation is rolled back: DynamoDB
 * would reject the deletion, and the rollback would fail. The generated name never conflicts with later deployments.
 */
function tableRetention(policy: RemovalPolicy, deletionProtection: boolean): RemovalPolicy {
  return deletionProtection ? policy : retainedOnceUsed(policy);
}

/** Protection of a table. */
export interface TableProtection {
  /** Removal policy of the table: delete or retain it when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
  readonly deletionProtection: boolean;
  /** Whether the table can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
}

/** Properties that both queues' tables share: billed per request, encrypted, and protected. */
export function tableProps({ removalPolicy, deletionProtection, pointInTimeRecovery }: TableProtection) {
  return {
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: pointInTimeRecovery },
    deletionProtection,
    removalPolicy: tableRetention(removalPolicy, deletionProtection),
  };
}
