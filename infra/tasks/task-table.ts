import type { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { TABLE } from '../contract/tasks';
import { tableRetention } from '../lambda/retention';

/** The condition of a policy statement that allows access to this item only. */
function itemOnly(key: string) {
  return {
    // ForAllValues also matches a request without keys; Null excludes it.
    'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [key] },
    Null: { 'dynamodb:LeadingKeys': 'false' },
  };
}

/** The condition of a policy statement that allows access to the control item only. */
export const CONTROL_ITEM_ONLY = itemOnly(TABLE.controlItem);

/** The condition of a policy statement that allows access to the meter of admission only. */
export const INGEST_ITEM_ONLY = itemOnly(TABLE.ingestItem);

/** The condition of a policy statement that allows access to the item of groups only. */
export const GROUPS_ITEM_ONLY = itemOnly(TABLE.groupsItem);

/** The prefix of the keys of the queue's own items. No task id has it: `crates/lifo-queue/src/schema.rs`. */
export const RESERVED_PREFIX = '#';

/**
 * The condition of a policy statement that allows access to tasks, but not to the queue's own items. It applies to each
 * item of a transaction.
 */
export const TASKS_ONLY = {
  'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': [`${RESERVED_PREFIX}*`] },
  Null: { 'dynamodb:LeadingKeys': 'false' },
};

export interface TaskTableProps {
  /** Removal policy of the table. */
  readonly removalPolicy: RemovalPolicy;
  /** Whether DynamoDB rejects the deletion of the table. */
  readonly deletionProtection: boolean;
  /** Whether the table can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
}

/**
 * The task table. Its index projection and its stream's view type can't be changed after the first
 * deployment.
 */
export class TaskTable extends Construct {
  readonly table: Table;
  /** ARN of the index from which the functions read tasks. */
  readonly indexArn: string;
  readonly streamArn: string;

  constructor(scope: Construct, id: string, props: TaskTableProps) {
    super(scope, id);
    this.table = new Table(this, 'table', {
      billingMode: BillingMode.PAY_PER_REQUEST,
      partitionKey: { name: TABLE.key, type: AttributeType.STRING },
      timeToLiveAttribute: TABLE.ttl,
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery },
      deletionProtection: props.deletionProtection,
      removalPolicy: tableRetention(props.removalPolicy, props.deletionProtection),
    });
    this.table.addGlobalSecondaryIndex({
      indexName: TABLE.index,
      partitionKey: { name: TABLE.indexPartitionKey, type: AttributeType.STRING },
      sortKey: { name: TABLE.indexSortKey, type: AttributeType.NUMBER },
      // Without the payload: each change of status writes the index twice, and a take returns the whole item anyway.
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...TABLE.indexProjection],
    });
    this.indexArn = `${this.table.tableArn}/index/${TABLE.index}`;
    if (this.table.tableStreamArn === undefined) throw new Error('the table was created without a stream');
    this.streamArn = this.table.tableStreamArn;
  }
}
