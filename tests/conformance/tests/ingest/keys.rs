//! Batches with keys.

use std::sync::Arc;

use lifo_queue::create::Creator;
use lifo_queue::ingest::Delivery;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::TaskId;
use lifo_queue::time::SystemClock;
use serde_json::json;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;

use super::world::{Queues, ingest, message, work};

fn payload(store: &MemoryStore, id: &str) -> Option<serde_json::Value> {
    store.record(&TaskId::from_stored(id)).unwrap().payload
}

#[tokio::test(start_paused = true)]
async fn only_the_newest_state_of_a_key_in_a_batch_is_written() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let ingest = ingest(store.clone(), &queues);
    let state = |sequence: u64| json!({"key": "k", "sequence": sequence, "payload": sequence});
    let batch = [
        message("m1", json!([state(7), state(9), state(9)])),
        message("m2", state(8)),
        message("m3", json!({"taskId": "other"})),
    ];
    let report = work(&ingest, &batch).await;
    assert_eq!(
        (report.created, report.superseded, report.duplicates),
        (2, 2, 1)
    );
    assert_eq!(report.returned, Vec::<String>::new());
    assert_eq!(payload(&store, "k"), Some(json!(9)));
    // Only the newest state was written, so no stored state was superseded.
    let record = store.record(&TaskId::from_stored("k")).unwrap();
    assert_eq!(record.superseded, 0);
    let late = work(&ingest, &[message("m4", state(8))]).await;
    assert_eq!((late.created, late.superseded), (0, 1));
    assert_eq!(late.superseded_keys().as_deref(), Some("k"));
    // The log names the first ten keys.
    let states = |sequence: u64| {
        let states = (0..12).map(|n| json!({"key": format!("many{n}"), "sequence": sequence}));
        json!(states.collect::<Vec<_>>())
    };
    let first = work(&ingest, &[message("m5", states(1))]).await;
    assert_eq!((first.superseded, first.superseded_keys()), (0, None));
    let second = work(&ingest, &[message("m6", states(2))]).await;
    let keys = second.superseded_keys().unwrap();
    assert_eq!((second.superseded, keys.split(", ").count()), (12, 10));
}

#[tokio::test(start_paused = true)]
async fn without_a_sequence_the_later_message_wins_and_a_redelivered_one_is_a_duplicate() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let ingest = ingest(store.clone(), &queues);
    let sent = |id: &str, seconds: i64| {
        let mut message = message(id, json!({"key": "k", "payload": id}));
        message.sent.0 += 1_000 * seconds;
        message
    };
    let newer = sent("newer", 5);
    work(&ingest, &[newer.clone(), sent("older", 2)]).await;
    assert_eq!(payload(&store, "k"), Some(json!("newer")));
    let again = Delivery {
        receives: 2,
        ..newer
    };
    let report = work(&ingest, &[again, sent("older", 2)]).await;
    assert_eq!(
        (report.created, report.duplicates, report.superseded),
        (0, 1, 1)
    );
    assert_eq!(payload(&store, "k"), Some(json!("newer")));
}

/// A state that DynamoDB rejects does not supersede an older valid state.
#[tokio::test(start_paused = true)]
async fn rejected_state_does_not_supersede_a_valid_older_one() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let ingest = ingest(store.clone(), &queues);
    let by_sequence = json!({"key": "k", "sequence": 1, "payload": 1});
    work(&ingest, &[message("m1", by_sequence)]).await;
    let batch = [
        message("m2", json!({"key": "k", "payload": "by time"})),
        message("m3", json!({"key": "k", "sequence": 2, "payload": 2})),
        message("m4", json!({"key": "k", "sequence": 3, "ttlSeconds": 0})),
        message("m5", json!({"key": "k", "taskId": "k"})),
    ];
    let report = work(&ingest, &batch).await;
    assert_eq!(
        (report.created, report.superseded, report.rejected),
        (1, 1, 3)
    );
    assert_eq!(payload(&store, "k"), Some(json!(2)));
    let letters = queues.letters.lock().unwrap();
    assert!(
        letters["m2"][0]
            .reason
            .contains("give every task of the key a sequence, or none")
    );
    assert!(letters["m4"][0].reason.contains("ttlSeconds"));
    assert!(letters["m5"][0].reason.contains("both taskId and key"));
}

#[tokio::test]
async fn states_of_a_key_are_retryable_if_dynamodb_does_not_respond_for_the_newest() {
    let store = Arc::new(MemoryStore::new());
    let script = |task: &lifo_queue::task::NewTask| match task.payload == Some(json!(1)) {
        true => Some(Fault::Throttled),
        false => Some(Fault::Invalid),
    };
    let failing = FaultyStore::failing_inserts(store, script);
    let settings = simulator::deployed::INGEST.create;
    let creator = Creator::new(Arc::new(failing), Arc::new(SystemClock), settings);
    let state = |sequence: u64| json!({"key": "k", "sequence": sequence, "payload": sequence});
    let report = creator.create(&[state(0), state(1), state(2)]).await;
    let retryable: Vec<_> = report.failed.iter().map(|task| task.retryable).collect();
    // The newest state is invalid. Of the others, only the second newest is attempted.
    assert_eq!(retryable, [true, true, false]);
}
