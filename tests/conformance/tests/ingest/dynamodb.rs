//! Batches on an embedded DynamoDB, through the real client.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::database;
use lifo_queue::ingest::{Deadlines, Delivery, Ingest, IngestReport};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::dynamodb::DynamoStore;
use serde_json::{Value, json};
use simulator::dynamodb::TABLE;
use simulator::engine::Engine;
use simulator::fault::Fault;
use simulator::scripted::client;
use tokio::time::Instant;

use super::world::{Queues, SETTINGS, Still, message};

fn ingest(
    dynamo: &Engine,
    queues: &Arc<Queues>,
    script: impl Fn(&str, &Value) -> Option<Fault> + Send + Sync + 'static,
) -> Ingest {
    let store = DynamoStore::new(client(dynamo, script), TABLE);
    let shed = ShedCounter::new(None);
    Ingest::new(
        Arc::new(store),
        queues.clone(),
        shed,
        Arc::new(Still),
        SETTINGS,
    )
}

fn batch(messages: usize) -> Vec<Delivery> {
    (0..messages)
        .map(|n| message(&format!("m{n}"), json!({"payload": {"n": n}})))
        .collect()
}

async fn work(ingest: &Ingest, batch: &[Delivery], writes: Duration) -> IngestReport {
    let deadlines = Deadlines {
        writes: Instant::now() + writes,
        report: Instant::now() + writes + Duration::from_secs(5),
    };
    ingest.work(batch, deadlines).await
}

async fn ids(dynamo: &Engine) -> BTreeSet<String> {
    let items = dynamo
        .client()
        .scan()
        .table_name(TABLE)
        .into_paginator()
        .items();
    let items = items.send().collect::<Result<Vec<_>, _>>().await.unwrap();
    let id = |item: std::collections::HashMap<_, aws_sdk_dynamodb::types::AttributeValue>| {
        item["taskId"].as_s().unwrap().clone()
    };
    items.into_iter().map(id).collect()
}

fn id(body: &Value) -> &str {
    body["Item"]["taskId"]["S"].as_str().unwrap()
}

#[tokio::test]
async fn throttled_writes_and_lost_responses_are_repeated_and_create_once() {
    let (dynamo, queues) = (database(), Arc::<Queues>::default());
    let (calls, lost) = (AtomicU32::new(0), AtomicU32::new(0));
    // Two in five writes are throttled. Of the rest, one in seven loses its response.
    let script = move |_: &str, _: &Value| match calls.fetch_add(1, Ordering::Relaxed) % 5 {
        1 | 3 => Some(Fault::Throttled),
        _ if lost.fetch_add(1, Ordering::Relaxed) % 7 == 0 => Some(Fault::LostAck),
        _ => None,
    };
    let ingest = ingest(&dynamo, &queues, script);
    let (mut left, mut written, mut postponed) = (batch(200), 0, 0);
    while !left.is_empty() {
        let report = work(&ingest, &left, Duration::from_secs(60)).await;
        // The process recognizes its own write after a lost acknowledgement. Only a message that
        // was redelivered after throttled retries can be a duplicate.
        assert!(report.duplicates <= postponed, "{report:?}");
        assert_eq!(report.returned.len() as u64, report.postponed);
        written += report.created + report.duplicates;
        postponed += report.postponed;
        left.retain(|message| report.returned.contains(&message.id));
    }
    assert_eq!(written, 200);
    assert_eq!(ids(&dynamo).await.len(), 200);
}

#[tokio::test]
async fn only_throttled_messages_are_redelivered() {
    let (dynamo, queues) = (database(), Arc::<Queues>::default());
    let throttles = |_: &str, body: &Value| id(body).ends_with('7').then_some(Fault::Throttled);
    let ingest = ingest(&dynamo, &queues, throttles);
    let report = work(&ingest, &batch(100), Duration::from_secs(3)).await;
    let returned: BTreeSet<_> = report.returned.into_iter().collect();
    let expected: BTreeSet<_> = (0..10)
        .map(|ten| format!("m{ten}7").replace("m07", "m7"))
        .collect();
    let there = ids(&dynamo).await;
    assert!(returned.is_superset(&expected), "{returned:?}");
    // The failed messages are exactly those whose tasks are missing from the table.
    assert_eq!(returned.len() + there.len(), 100);
    assert!(returned.is_disjoint(&there));
    assert_eq!(queues.postponed.lock().unwrap().len(), returned.len());
}
