import type { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { AGENT_QUEUE } from '../contract/agents';
import { tableRetention } from '../lambda/retention';

export interface AgentTableProps {
  /** Removal policy of the table: delete or retain it when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
  /** Whether DynamoDB rejects the deletion of the table. */
  readonly deletionProtection: boolean;
  /** Whether the table can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
}

/**
 * One table for agents, their queues, calls and the outbox. It has no index and no stream: every read is strongly
 * consistent, and every change of an agent or a call is a transaction. DynamoDB deletes finished calls 15 days after
 * they were assigned, cancelled or expired.
 */
export class AgentTable extends Table {
  constructor(scope: Construct, id: string, props: AgentTableProps) {
    super(scope, id, {
      billingMode: BillingMode.PAY_PER_REQUEST,
      partitionKey: { name: AGENT_QUEUE.table.partitionKey, type: AttributeType.STRING },
      sortKey: { name: AGENT_QUEUE.table.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: AGENT_QUEUE.table.timeToLive,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery },
      deletionProtection: props.deletionProtection,
      removalPolicy: tableRetention(props.removalPolicy, props.deletionProtection),
    });
  }
}
