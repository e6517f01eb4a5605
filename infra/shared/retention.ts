import { RemovalPolicy } from 'aws-cdk-lib';
import { BillingMode, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';

/**
 * Returns the removal policy of a queue or a log group. If `policy` is `RETAIN`, CloudFormation retains the resource
 * when it is removed with or from the stack, but deletes it when its creation is rolled back. `RETAIN` alone would
 * leave an empty resource behind. If that resource had a fixed name, every later deployment would fail.
 */
export function retainedOnceUsed(policy: RemovalPolicy): RemovalPolicy {
  return policy === RemovalPolicy.RETAIN ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : policy;
}

/** Settings that protect a table's data. */
export interface TableProtection {
  /** Removal policy, which determines whether stack deletion deletes or retains the table. */
  readonly removalPolicy: RemovalPolicy;
  readonly deletionProtection: boolean;
  /** Whether the table can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
}

/** Returns the properties that both queues' tables share: on-demand billing, encryption and protection. */
export function tableProps({ removalPolicy, deletionProtection, pointInTimeRecovery }: TableProtection) {
  return {
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: pointInTimeRecovery },
    deletionProtection,
    // With deletion protection, a rollback of the creation also retains the table, because a rejected deletion would make
    // the rollback fail. The generated name never conflicts with later deployments.
    removalPolicy: deletionProtection ? removalPolicy : retainedOnceUsed(removalPolicy),
  };
}
