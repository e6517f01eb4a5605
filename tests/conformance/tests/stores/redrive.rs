//! Redrives with concurrent newer states of the key.

use std::sync::atomic::{AtomicI64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use conformance::{NOW, RETENTION, database, fail, new_task, take};
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{
    ControlStore, OperatorStore, Redrive, Redriven, Seen, StoreError, TaskStore, Written,
};
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use serde_json::Value;
use simulator::dynamodb::TABLE;
use simulator::engine::Engine;
use simulator::scripted::client;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// A table with the failed task `k`, created at [`NOW`].
async fn failed_task() -> Engine {
    let dynamo = database();
    let store = DynamoStore::new(dynamo.client(), TABLE);
    store.insert(&new_task("k", 0)).await.unwrap();
    let lease = take(&store, "k").await.lease;
    assert_eq!(fail(&store, &lease).await, Written::Done);
    dynamo
}

/// Simulates a newer state of the key that has an earlier creation time and has failed.
fn make_older(table: &Client, created: i64) {
    let update = table
        .update_item()
        .table_name(TABLE)
        .key(schema::TASK_ID, AttributeValue::S("k".to_owned()))
        .update_expression("SET taskCreated = :created")
        .expression_attribute_values(":created", AttributeValue::N(created.to_string()));
    block_in_place(|| Handle::current().block_on(async { update.send().await.unwrap() }));
}

/// Redrives `k`. Calls `make_older` before each of the first `changes` requests that would make `k`
/// PENDING.
async fn redrive(dynamo: &Engine, changes: i64) -> Result<Redriven, StoreError> {
    let (table, changed) = (dynamo.client(), AtomicI64::new(0));
    let script = move |operation: &str, body: &Value| {
        let is_task = body["Key"][schema::TASK_ID]["S"] == "k";
        if operation == "UpdateItem" && is_task {
            let n = changed.fetch_add(1, Ordering::Relaxed) + 1;
            if n <= changes {
                make_older(&table, NOW.0 - n);
            }
        }
        None
    };
    let redrive = Redrive {
        task: TaskId::from_stored("k"),
        state: Seen::Any,
        expires_at: NOW.floor_seconds().plus(RETENTION.failure),
    };
    let store = DynamoStore::new(client(dynamo, script), TABLE);
    store.redrive(&redrive, NOW).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bound_covers_a_state_that_failed_during_the_redrive() {
    let dynamo = failed_task().await;

    assert_eq!(redrive(&dynamo, 3).await.unwrap(), Redriven::Done);

    let store = DynamoStore::new(dynamo.client(), TABLE);
    let redriven = store.control().await.unwrap().redriven.unwrap();
    assert_eq!(redriven.oldest, Millis(NOW.0 - 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_changes_before_each_attempt_stays_failed() {
    let dynamo = failed_task().await;

    let error = redrive(&dynamo, i64::MAX).await.unwrap_err();

    assert!(error.is_transient());
    assert_eq!(
        error.to_string(),
        "UpdateItem: other requests modified item k during every attempt; retry it"
    );
    assert_eq!(redrive(&dynamo, 0).await.unwrap(), Redriven::Done);
}
