import { AttributeType, ProjectionType, StreamViewType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { TABLE } from '../contract/tasks';
import { type TableProtection, tableProps } from '../lambda/retention';

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

/**
 * The task table. Its index projection and its stream's view type can't be changed after the first
 * deployment.
 */
export class TaskTable extends Construct {
  readonly table: Table;
  /** ARN of the index from which the functions read tasks. */
  readonly indexArn: string;
  readonly streamArn: string;

  constructor(scope: Construct, id: string, props: TableProtection) {
    super(scope, id);
    this.table = new Table(this, 'table', {
      ...tableProps(props),
      partitionKey: { name: TABLE.key, type: AttributeType.STRING },
      timeToLiveAttribute: TABLE.ttl,
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
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
