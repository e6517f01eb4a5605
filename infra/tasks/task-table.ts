import { AttributeType, ProjectionType, StreamViewType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { TABLE } from '../contract/tasks';
import { type TableProtection, tableProps } from '../shared/retention';

/** Returns a policy statement condition that allows access to this item only. */
function itemOnly(key: string) {
  return {
    // ForAllValues also matches a request without keys. Null excludes such a request.
    'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [key] },
    Null: { 'dynamodb:LeadingKeys': 'false' },
  };
}

/** Policy statement condition that allows access to the control item only. */
export const CONTROL_ITEM_ONLY = itemOnly(TABLE.controlItem);

/** Policy statement condition that allows access to the admission meter only. */
export const INGEST_ITEM_ONLY = itemOnly(TABLE.ingestItem);

/** Policy statement condition that allows access to the groups item only. */
export const GROUPS_ITEM_ONLY = itemOnly(TABLE.groupsItem);

/** Key prefix of the queue's own items. No task id starts with it: see `crates/lifo-queue/src/schema.rs`. */
export const RESERVED_PREFIX = '#';

/**
 * Policy statement condition that allows access to tasks, but not to the queue's own items. It applies to each item in
 * a transaction.
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
      // Omits the payload, because each status change writes the index twice, and a take returns the whole item anyway.
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...TABLE.indexProjection],
    });
    this.indexArn = `${this.table.tableArn}/index/${TABLE.index}`;
    if (this.table.tableStreamArn === undefined) throw new Error('the table was created without a stream');
    this.streamArn = this.table.tableStreamArn;
  }
}
