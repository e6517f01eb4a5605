//! The joins of the queues on DynamoDB: where they are counted, and the cost.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::HashMap;

use agent_queue::dimension::Dimensions;
use agent_queue::store::AgentStore;
use agent_queue::store::dynamodb::DynamoStore;
use agents::{agent, available, embedded, enqueue, queue, queued};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::conflicts::{Conflicts, Latency};
use simulator::dynamodb::AGENT_TABLE;

async fn put(client: &Client, pk: &str, sk: &str, numbers: HashMap<String, AttributeValue>) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client.put_item().table_name(AGENT_TABLE);
    let put = put.set_item(Some(numbers));
    let put = put.item("pk", text(pk)).item("sk", text(sk));
    put.send().await.unwrap();
}

fn number(name: &str, number: u64) -> (String, AttributeValue) {
    (name.to_owned(), AttributeValue::N(number.to_string()))
}

#[tokio::test]
async fn enqueue_costs_four_units_with_any_number_of_queue_names() {
    let dynamo = embedded().await;
    for stripe in 0..64 {
        let names = (0..1_000).map(|n| number(&format!("Q#language-{n}#F"), 1));
        put(
            &dynamo.client,
            &format!("Joins#{stripe}"),
            "Joins",
            names.collect(),
        )
        .await;
    }
    let conflicts = Conflicts::new(Latency::default());
    let client = conflicts.client(dynamo.address);
    let store = DynamoStore::new(client, AGENT_TABLE, Dimensions::default());
    let ana = available(&store, agent("ana", &["Spanish"], "F")).await;
    drop(conflicts.take_figures());
    enqueue(&store, ana, 1).await;
    // The agent and its entry, twice each because of the transaction.
    assert_eq!(conflicts.take_figures().write_units(), 4.0);
}

#[tokio::test]
async fn queue_version_includes_the_joins_that_earlier_releases_counted() {
    let dynamo = embedded().await;
    let store = DynamoStore::new(dynamo.client.clone(), AGENT_TABLE, Dimensions::default());
    queued(&store, agent("ana", &["Spanish"], "F"), 1).await;
    // Two joins and a departure before the stripes, then three and four joins on two stripes.
    let counters = [number("QueueVersionId", 3), number("QueueDepth", 1)];
    put(&dynamo.client, "AllQueues", "Q#Spanish#F", counters.into()).await;
    for (stripe, joins) in [(0, 3), (63, 4)] {
        let joins = [number("Q#Spanish#F", joins)];
        put(
            &dynamo.client,
            &format!("Joins#{stripe}"),
            "Joins",
            joins.into(),
        )
        .await;
    }
    let all = store.queues().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].queue, queue("Spanish#F"));
    assert_eq!((all[0].version, all[0].depth), (2 * (2 + 3 + 4 + 1) - 1, 1));
}
