//! Tests a redrive of more failed tasks than one page of the index has, on an embedded DynamoDB.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::SystemClock;
use serde_json::json;
use simulator::dynamodb::{EmbeddedDynamo, TABLE};

use super::*;

const FAILED: i64 = 1_100;

/// DynamoDB's limit for one BatchWriteItem.
const BATCH: i64 = 25;

fn failed_item(n: i64, now: Millis) -> HashMap<String, AttributeValue> {
    let number = |n: i64| AttributeValue::N(n.to_string());
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let deadline = now.ceil_seconds().plus(HOUR);
    let attributes = [
        (schema::TASK_ID, text(&format!("task-{n}"))),
        (schema::TASK_STATUS, text(TaskStatus::Failure.name())),
        (schema::TASK_CREATED, number(now.0 - n)),
        (schema::TTL, number(deadline.0)),
        (schema::ATTEMPTS, number(5)),
    ];
    attributes
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

async fn put_failed(client: &Client, now: Millis) {
    for first in (0..FAILED).step_by(BATCH as usize) {
        let put = |n| {
            let put = PutRequest::builder()
                .set_item(Some(failed_item(n, now)))
                .build()
                .unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let requests: Vec<_> = (first..first + BATCH).map(put).collect();
        let written = client
            .batch_write_item()
            .request_items(TABLE, requests)
            .send()
            .await;
        let left = written.unwrap().unprocessed_items.unwrap_or_default();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test]
async fn all_failed_tasks_of_all_pages_are_redriven_and_one_notification_is_sent() {
    let dynamodb = EmbeddedDynamo::start().await.unwrap();
    put_failed(&dynamodb.client, SystemClock.now()).await;
    let store = DynamoStore::new(dynamodb.client.clone(), TABLE);
    let topics = Arc::new(Topics::default());
    let clock = Arc::new(SystemClock);
    let (name, caller) = ("tasks".to_owned(), Caller::example());
    let queue = Queue::new(name, caller, Arc::new(store), topics.clone(), clock);
    let mut prompt = Answering {
        answer: Some("yes".to_owned()),
        ..Answering::default()
    };
    let all = Redrive {
        tasks: Vec::new(),
        all: true,
        error: None,
        dry_run: false,
        yes: false,
        ttl: HOUR,
    };
    let report = all.run(&queue, &mut prompt).await.unwrap();
    assert_eq!(
        report.json,
        json!({ "redriven": FAILED, "lost": 0, "failed": [], "wake": "published" })
    );
    let question = "Retry 1100 failed tasks of tasks (account 111122223333, eu-central-1) \
                    with a new expiry in 1h? [y/N] ";
    assert_eq!(prompt.asked, [question]);
    let status = Status {}.run(&queue, &mut prompt).await.unwrap().json;
    let count = |count: i64| json!({ "count": count, "exact": true });
    assert_eq!(
        (&status["pending"], &status["failed"]),
        (&count(FAILED), &count(0))
    );
    assert_eq!(topics.process_tasks().len(), 1);
}
