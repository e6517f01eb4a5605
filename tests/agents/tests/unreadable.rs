//! Unreadable items, edited by hand or written by another program, are passed over.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use agent_queue::call::CallState;
use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use agents::world::{Still, World, pairs};
use agents::{agent_id, embedded};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::dynamodb::AGENT_TABLE;

/// Writes items with a key and no other attribute, which come first in their partition.
async fn spoil(client: &Client, partition: &str, count: u32) {
    for number in 0..count {
        let text = |text: String| AttributeValue::S(text);
        let put = client.put_item().table_name(AGENT_TABLE);
        let put = put.item("pk", text(partition.to_owned()));
        let put = put.item("sk", text(format!("0000-{number}")));
        put.send().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_items_hide_no_later_items() {
    let still = Still::hold();
    let client = embedded().await.client;
    let store = DynamoStore::new(client.clone(), AGENT_TABLE, Dimensions::default());
    let world = World::on(Arc::new(store));
    drop(still);
    for partition in ["Q#Spanish#F", "C#Spanish#F", "Leases", "Outbox"] {
        spoil(&client, partition, 7).await;
    }
    world.queued("ana", &["Spanish"], "F").await;
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "ana");
    world.ask("c2", "Spanish#F").await;
    let met = world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c2→bea");
    world.pass(std::time::Duration::from_secs(5)).await;
    assert_eq!(world.sweep().await.published, 2);
}

#[tokio::test(start_paused = true)]
async fn unreadable_agent_blocks_no_queue() {
    let still = Still::hold();
    let client = embedded().await.client;
    let store = DynamoStore::new(client.clone(), AGENT_TABLE, Dimensions::default());
    let world = World::on(Arc::new(store));
    drop(still);
    world.queued("ana", &["Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let update = client.update_item().table_name(AGENT_TABLE);
    let update = update
        .key("pk", AttributeValue::S("AllAgents".to_owned()))
        .key(
            "sk",
            AttributeValue::S(format!("Agent#{}", agent_id("ana"))),
        );
    let update = update.update_expression("REMOVE AgentStatus, Languages");
    update.send().await.unwrap();
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "bea");
    let asked = world.ask("c2", "Spanish#F").await;
    assert_eq!(asked.state, CallState::Waiting);
}
