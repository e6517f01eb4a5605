import { AttributeType, Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { AGENT_QUEUE } from '../contract/agents';
import { type TableProtection, tableProps } from '../shared/retention';

/**
 * One table for agents, their queues, calls and the outbox. It has no index or stream. Every read is strongly
 * consistent, and every change to an agent or a call is a transaction. DynamoDB deletes finished calls 15 days after
 * they were assigned, canceled or expired.
 */
export class AgentTable extends Table {
  constructor(scope: Construct, id: string, props: TableProtection) {
    super(scope, id, {
      ...tableProps(props),
      partitionKey: { name: AGENT_QUEUE.table.partitionKey, type: AttributeType.STRING },
      sortKey: { name: AGENT_QUEUE.table.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: AGENT_QUEUE.table.timeToLive,
    });
  }
}
