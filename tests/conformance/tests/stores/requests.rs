//! Requests with multiple states of a key.

use std::sync::Arc;

use conformance::*;
use lifo_queue::create::Creator;
use lifo_queue::schema;
use lifo_queue::store::QueueStore;
use lifo_queue::task::TaskId;
use lifo_queue::time::TokioClock;
use serde_json::{Map, Value, json};

on_every_store! {
    request_with_states_of_a_key_equals_single_requests_newest_first,
}

/// The attributes of a key's task that must not depend on the number of requests.
async fn attributes(store: &dyn QueueStore, key: &str) -> Map<String, Value> {
    let id = TaskId::from_stored(key);
    let mut attributes = store.attributes(&id).await.unwrap().unwrap();
    for own in [schema::TASK_ID, schema::CREATE_TOKEN, schema::TASK_UPDATED] {
        attributes.remove(own);
    }
    attributes
}

async fn request_with_states_of_a_key_equals_single_requests_newest_first(
    store: Arc<dyn QueueStore>,
) {
    let clock = Arc::new(TokioClock::starting_at(NOW));
    let settings = simulator::deployed::INGEST.create;
    let creator = Creator::new(store.clone(), clock, settings);
    let orders = [
        [1, 2, 3, 4],
        [4, 3, 2, 1],
        [3, 1, 4, 2],
        [2, 2, 3, 3],
        [7, 7, 7, 7],
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let spec = |key: &str, sequence: u64| {
            json!({
                "key": format!("{key}{number}"),
                "sequence": sequence,
                "taskCreated": NOW.0,
                "payload": {"n": sequence},
            })
        };
        let batch: Vec<_> = order.map(|sequence| spec("batch", sequence)).into();
        let together = creator.create(&batch).await;

        let mut newest_first = order;
        newest_first.sort_by(|one, other| other.cmp(one));
        let (mut superseded, mut duplicates, mut created) = (0, 0, 0);
        for sequence in newest_first {
            let single = creator.create(&[spec("single", sequence)]).await;
            superseded += single.superseded();
            duplicates += single.duplicates.len();
            created += single.created.len();
        }
        assert_eq!(
            (together.created.len(), together.duplicates.len()),
            (created, duplicates)
        );
        assert_eq!(together.superseded(), superseded);
        assert_eq!(
            attributes(&*store, &format!("batch{number}")).await,
            attributes(&*store, &format!("single{number}")).await
        );
    }
}
