//! The sweep moves the items of an older release, which had one partition for the agents, one for
//! the outbox and one for the leases.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::AgentStatus;
use agent_queue::call::OutboxEvent;
use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::time::Micros;
use agent_queue::transaction::{Key, lease_key, outbox_key};
use agents::world::{Still, World};
use agents::{embedded, partitions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::dynamodb::AGENT_TABLE;

/// Moves an item to the partition without a stripe, where the older release wrote it.
async fn back(client: &Client, (pk, sk): &Key) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let delete = client.delete_item().table_name(AGENT_TABLE);
    let delete = delete.key("pk", text(pk)).key("sk", text(sk));
    let deleted = delete
        .return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld)
        .send()
        .await
        .unwrap();
    let mut item = deleted.attributes.unwrap();
    let whole = pk.split('#').next().unwrap();
    item.insert("pk".to_owned(), text(whole));
    let put = client.put_item().table_name(AGENT_TABLE);
    put.set_item(Some(item)).send().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn sweep_adopts_agents_leases_and_outbox_entries_of_an_older_release() {
    let still = Still::hold();
    let client = embedded().await.client;
    let store = DynamoStore::new(client.clone(), AGENT_TABLE, Dimensions::default());
    let world = World::on(Arc::new(store));
    drop(still);
    let world = world.with(|settings| settings.call_lease = Some(Duration::from_secs(60)));
    let mut made = vec![];
    for number in 0..60 {
        let (agent, call) = (format!("a{number}"), format!("c{number}"));
        world.queued(&agent, &["Spanish"], "F").await;
        made.extend(world.ask(&call, "Spanish#F").await.assignments);
    }
    let end = Micros(u64::MAX);
    for lease in world.store.leases(None, end, 100).await.unwrap() {
        back(&client, &lease_key(&lease)).await;
    }
    for entry in world.store.outbox_entries(None, end, 100).await.unwrap() {
        back(&client, &outbox_key(&entry)).await;
    }
    partitions::to_former(&client, (0..60).map(|number| format!("a{number}"))).await;
    assert_eq!(world.store.leases(None, end, 100).await.unwrap(), []);
    world.pass(Duration::from_secs(10)).await;
    assert_eq!(
        world.sweep().await.published,
        60,
        "more than a transaction moves"
    );
    let heard = world.publisher.heard();
    assert!(
        made.into_iter()
            .all(|made| heard.contains(&OutboxEvent::Assigned(made)))
    );
    assert_eq!(world.store.leases(None, end, 100).await.unwrap().len(), 60);
    assert_eq!(partitions::items(&client, "Agents#").await, 60);
    assert_eq!(world.store.adopt().await.unwrap(), 0, "nothing is left");
    world.pass(Duration::from_secs(61)).await;
    assert_eq!(world.sweep().await.returned, 60);
    assert_eq!(world.status("a7").await, AgentStatus::Available);
}
