//! The joins of the queues on DynamoDB: their cost.
#![allow(clippy::unwrap_used, clippy::panic)]

use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use agents::{agent, available, embedded, enqueue};
use simulator::conflicts::{Conflicts, Latency};
use simulator::dynamodb::AGENT_TABLE;

#[tokio::test]
async fn enqueue_costs_four_units() {
    let dynamo = embedded().await;
    let conflicts = Conflicts::new(Latency::default());
    let client = conflicts.client(dynamo.address);
    let store = DynamoStore::new(client, AGENT_TABLE, Dimensions::default());
    let ana = available(&store, agent("ana", &["Spanish"], "F")).await;
    drop(conflicts.take_figures());
    enqueue(&store, ana, 1).await;
    // The agent and its entry, twice each because of the transaction.
    assert_eq!(conflicts.take_figures().write_units(), 4.0);
}
