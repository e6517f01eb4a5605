//! No task is quarantined if DynamoDB rejects a request for a reason unrelated to the item.

use conformance::{NOW, candidate, database, dynamodb, inserted, wish};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{StoreError, TakeOutcome, TaskStore, Written};

#[tokio::test]
async fn missing_table_causes_no_quarantine() {
    let store = DynamoStore::new(database().client(), "another");
    let code = |error: StoreError| match error {
        StoreError::Rejected { code, .. } => code,
        error => panic!("{error}"),
    };
    let taken = store.take(&wish(candidate("t"))).await;
    assert_eq!(code(taken.unwrap_err()), "ResourceNotFoundException");
    let (task, until) = (inserted("t", 0), NOW.floor_seconds());
    let condemned = store.quarantine(&task, "why", until, NOW).await;
    assert_eq!(code(condemned.unwrap_err()), "ResourceNotFoundException");
}

#[tokio::test]
async fn take_and_quarantine_of_a_missing_task_are_lost() {
    let store = dynamodb();
    let taken = store.take(&wish(candidate("t"))).await.unwrap();
    assert_eq!(taken, TakeOutcome::Lost);
    let (task, until) = (inserted("t", 0), NOW.floor_seconds());
    let condemned = store.quarantine(&task, "why", until, NOW).await;
    assert_eq!(condemned.unwrap(), Written::Lost);
}
