//! Every read is strongly consistent. Guarantees A3 and A8 rest on it, but the embedded DynamoDB's
//! reads always are, so this test checks the requests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use agent_queue::store::AgentStore;
use agents::world::World;
use agents::{agent_id, call_id, rows, store_of};
use serde_json::Value;
use simulator::agents::embedded::Embedded;
use simulator::scripted::client;

#[tokio::test(start_paused = true)]
async fn every_read_is_strongly_consistent() {
    let reads = Arc::<Mutex<Vec<(String, Value)>>>::default();
    let sent = reads.clone();
    let record = move |operation: &str, body: &Value| {
        if ["GetItem", "Query", "Scan"].contains(&operation) {
            let read = (operation.to_owned(), body.clone());
            sent.lock().unwrap().push(read);
        }
        None
    };
    let embedded = Embedded::start().unwrap();
    let store = Arc::new(store_of(client(embedded.engine(), record)));
    let world = World::on(store.clone());

    world.queued("ana", &["Spanish"], "F").await;
    world.ask("c1", "French#M").await;
    store.agent(&agent_id("ana")).await.unwrap();
    rows::stored(&*store, &[call_id("c1")]).await.unwrap();

    let reads = reads.lock().unwrap();
    let partition = |body: &Value| {
        let values = &body["ExpressionAttributeValues"][":pk"];
        let key = [&body["Key"]["pk"], values].map(|key| key["S"].as_str());
        key.into_iter().flatten().collect::<String>()
    };
    let partitions: BTreeSet<_> = reads.iter().map(|(_, body)| partition(body)).collect();
    for prefix in [
        "AllCriteria",
        "AllQueues",
        "Agents#",
        "C#",
        "Leases",
        "Outbox",
        "Q#",
    ] {
        let read = partitions
            .iter()
            .any(|partition| partition.starts_with(prefix));
        assert!(read, "{prefix} is not among {partitions:?}");
    }
    for (operation, body) in reads.iter() {
        assert_eq!(body["ConsistentRead"], true, "{operation} {body}");
    }
}
