//! Reads on which a guarantee rests are strongly consistent. The embedded DynamoDB's reads always
//! are, so these tests check the requests.

use std::sync::{Arc, Mutex};

use conformance::*;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{ControlStore, GroupStore, OperatorStore, Redrive, Seen, TaskStore};
use lifo_queue::task::TaskId;
use serde_json::Value;
use simulator::dynamodb::TABLE;
use simulator::scripted::client;

/// A store with the failed task `t`, and the requests that it has sent.
async fn recorded() -> (DynamoStore, Arc<Mutex<Vec<(String, Value)>>>) {
    let requests = Arc::<Mutex<Vec<_>>>::default();
    let sent = requests.clone();
    let record = move |operation: &str, body: &Value| {
        let request = (operation.to_owned(), body.clone());
        sent.lock().unwrap().push(request);
        None
    };
    let store = DynamoStore::new(client(&database(), record), TABLE);
    store.insert(&new_task("t", 0)).await.unwrap();
    let lease = take(&store, "t").await.lease;
    fail(&store, &lease).await;
    requests.lock().unwrap().clear();
    (store, requests)
}

#[tokio::test]
async fn every_read_of_an_item_is_strongly_consistent() {
    let (store, requests) = recorded().await;
    let task = TaskId::from_stored("t");
    let redrive = Redrive {
        task: task.clone(),
        state: Seen::Any,
        expires_at: NOW.floor_seconds().plus(RETENTION.failure),
    };

    store.control().await.unwrap();
    store.groups().await.unwrap();
    store.attributes(&task).await.unwrap();
    store.redrive(&redrive, NOW).await.unwrap();

    let requests = requests.lock().unwrap();
    let reads: Vec<_> = requests
        .iter()
        .filter(|(name, _)| name == "GetItem")
        .collect();
    let ids: Vec<_> = reads
        .iter()
        .map(|(_, body)| body["Key"]["taskId"]["S"].as_str())
        .collect();
    let control = Some("#processor");
    assert_eq!(
        ids,
        [control, Some("#groups"), Some("t"), Some("t"), control]
    );
    for (_, body) in reads {
        assert_eq!(body["ConsistentRead"], true, "{body}");
    }
}
