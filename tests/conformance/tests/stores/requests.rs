//! Requests with multiple states of a key.

use std::sync::Arc;

use conformance::*;
use lifo_queue::create::Creator;
use lifo_queue::schema;
use lifo_queue::store::{QueueStore, TakeOutcome};
use lifo_queue::task::TaskId;
use lifo_queue::time::TokioClock;
use serde_json::{Map, Value, json};

on_every_store! {
    request_with_states_of_a_key_equals_single_requests_newest_first,
    payload_number_is_delivered_with_its_value_or_rejected_with_its_path,
}

async fn payload_number_is_delivered_with_its_value_or_rejected_with_its_path(
    store: Arc<dyn QueueStore>,
) {
    let clock = Arc::new(TokioClock::starting_at(NOW));
    let creator = Creator::new(store.clone(), clock, simulator::deployed::INGEST.create);
    let delivered = [
        ("120.0", json!(120)),
        ("1.2e2", json!(120)),
        ("-0.0", json!(0)),
        ("0.1", json!(0.1)),
        ("0.10000000000000001", json!(0.1)),
        ("123456789.123456", json!(123_456_789.123_456)),
        ("1e18", json!(1_000_000_000_000_000_000_u64)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("-1e19", json!(-1e19)),
        ("3.333333333333333e-101", json!(3.333333333333333e-101)),
        ("1e-129", json!(1e-129)),
    ];
    for (number, value) in delivered {
        let text = format!(
            r#"{{"taskId": "{number}", "taskCreated": {}, "payload": [{number}]}}"#,
            NOW.0
        );
        let report = creator.create(&[text]).await;
        assert_eq!(report.created.len(), 1, "{report:?}");
        let taken = store.take(&wish(candidate(number))).await.unwrap();
        let TakeOutcome::Won(taken) = taken else {
            panic!("{number}: {taken:?}")
        };
        let payload = &taken.task.payload[0];
        assert_eq!(payload.as_f64(), value.as_f64(), "{number}: {payload}");
        assert_eq!(
            payload.as_u64().or(value.as_u64()),
            value.as_u64(),
            "{number}: {payload}"
        );
    }
    for number in [
        "-9223372036854775809",
        "9007199254740993.0",
        "1e-400",
        "1e-131",
        "1e126",
    ] {
        let text = format!(r#"{{"taskId": "x", "payload": [{{"n": {number}}}]}}"#);
        let report = creator.create(&[text]).await;
        let start = format!("payload[0].n is {number}, a number that would lose digits");
        assert!(report.failed[0].error.starts_with(&start), "{report:?}");
    }
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
