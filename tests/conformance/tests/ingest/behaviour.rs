//! Message outcomes.

use std::sync::Arc;
use std::time::Duration;

use conformance::{NOW, memory};
use lifo_queue::ingest::Delivery;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use serde_json::json;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use tokio::time::Instant;

use super::world::{Queues, SETTINGS, ingest, message, work};

fn record(store: &MemoryStore, id: &str) -> Option<lifo_queue::store::memory::Record> {
    store.record(&TaskId::from_stored(id))
}

#[tokio::test(start_paused = true)]
async fn invalid_message_goes_to_the_dead_letter_queue_and_blocks_no_other() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let batch = [
        message("m1", "{"),
        message("m2", json!({"taskId": "good"})),
        message("m3", json!([{}, {"ttlSeconds": 0}, {"taskId": "other"}])),
    ];
    let report = work(&ingest(store.clone(), &queues), &batch).await;
    assert_eq!(report.returned, Vec::<String>::new());
    assert_eq!((report.created, report.rejected), (3, 2));
    for id in ["good", "m3#0", "other"] {
        assert!(record(&store, id).is_some(), "{id}");
    }
    let letters = queues.letters.lock().unwrap();
    assert_eq!(letters["m1"][0].body, "{");
    assert!(letters["m1"][0].reason.contains("not valid JSON"));
    assert_eq!(letters["m3"][0].body, r#"[{"ttlSeconds":0}]"#);
    assert!(
        letters["m3"][0]
            .reason
            .starts_with("element 1: ttlSeconds is 0")
    );
}

/// The original text has a number that the parsed task would not have.
#[tokio::test(start_paused = true)]
async fn task_that_the_store_rejects_is_dead_lettered_as_it_was_sent() {
    let store = FaultyStore::failing_inserts(memory(), |task| {
        (task.payload == Some(json!(2))).then_some(Fault::Invalid)
    });
    let queues = Arc::<Queues>::default();
    let one = r#"{"payload":  2, "ttlSeconds": 3600.0}"#;
    let batch = [
        message("m1", one),
        message("m2", format!(r#"[{{"taskId": "a"}}, {one}]"#)),
    ];
    let report = work(&ingest(Arc::new(store), &queues), &batch).await;
    assert_eq!((report.created, report.rejected), (1, 2));
    let letters = queues.letters.lock().unwrap();
    assert_eq!(letters["m1"][0].body, one);
    assert_eq!(letters["m2"][0].body, format!("[{one}]"));
    let reason = &letters["m2"][0].reason;
    assert!(reason.starts_with("element 1: taskId m2#1: "), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn redelivered_message_creates_no_task_twice_and_makes_none_newer() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let ingest = ingest(store.clone(), &queues);
    let batch = [message("m1", "{}"), message("m2", "[{}, {}]")];
    let first = work(&ingest, &batch).await;
    let again = batch.clone().map(|message| Delivery {
        receives: 2,
        ..message
    });
    let second = work(&ingest, &again).await;
    assert_eq!((first.created, first.duplicates), (3, 0));
    assert_eq!((second.created, second.duplicates), (0, 3));
    assert_eq!(store.records().len(), 3);
    assert_eq!(record(&store, "m1").unwrap().created, batch[0].sent);
}

#[tokio::test(start_paused = true)]
async fn batch_with_a_repeated_task_id_creates_one_task() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let batch = [
        message("m1", json!({"taskId": "a", "payload": 1})),
        message("m2", json!({"taskId": "a", "payload": 2})),
    ];
    let report = work(&ingest(store.clone(), &queues), &batch).await;
    assert_eq!((report.created, report.duplicates), (1, 1));
    assert_eq!(record(&store, "a").unwrap().payload, Some(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn expired_task_is_shed_and_never_written() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let hour_ago = NOW.minus(Duration::from_secs(3_600));
    let batch = [
        Delivery {
            sent: hour_ago,
            ..message("old", "{}")
        },
        message("producers", json!({"taskCreated": hour_ago})),
        message("short", json!({"ttlSeconds": 60})),
        message("fresh", json!({"ttlSeconds": 61})),
        message("mixed", json!([{"ttlSeconds": 1}, {}])),
    ];
    let report = work(&ingest(store.clone(), &queues), &batch).await;
    assert_eq!((report.created, report.shed.counted()), (2, 4));
    assert_eq!(report.returned, Vec::<String>::new());
    let shed = queues.shed.lock().unwrap().clone();
    assert_eq!(shed, ["old", "producers", "short", "mixed#0"]);
    assert_eq!(store.records().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn message_is_redelivered_if_the_shed_queue_rejects_its_task() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    queues.keeps_out.lock().unwrap().insert("b".to_owned());
    let short = |id| message(id, json!({"taskId": id, "ttlSeconds": 1}));
    let batch = [short("a"), short("b"), short("c"), message("d", "{}")];
    let report = work(&ingest(store, &queues), &batch).await;
    assert_eq!(report.shed.counted(), 1);
    assert_eq!(report.returned, ["b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn redelivery_backoff_grows_with_each_receive() {
    let queues = Arc::<Queues>::default();
    let store = Arc::new(FaultyStore::failing_inserts(memory(), |_| {
        Some(Fault::Denied)
    }));
    let batch = [1, 3, 40].map(|receives| Delivery {
        receives,
        ..message(&format!("m{receives}"), "{}")
    });
    let report = work(&ingest(store, &queues), &batch).await;
    assert_eq!(report.returned, ["m1", "m3", "m40"]);
    let postponed = queues.postponed.lock().unwrap();
    for (message, bound) in postponed.iter().zip([4, 16, 64]) {
        let bound = Duration::from_secs(bound);
        assert!((bound / 2..=bound).contains(&message.by), "{message:?}");
    }
    assert_eq!(postponed[1].receipt, "receipt of m3");
}

#[tokio::test(start_paused = true)]
async fn hanging_dead_letter_queue_does_not_delay_the_report() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    *queues.slow.lock().unwrap() = Duration::from_secs(60);
    let batch = [message("wrong", "{"), message("good", "{}")];
    let report = work(&ingest(store, &queues), &batch).await;
    assert_eq!((report.created, report.rejected), (1, 0));
    assert_eq!(report.returned, ["wrong"], "the good one is done");
}

#[tokio::test(start_paused = true)]
async fn write_without_a_response_is_retried_only_until_the_deadline() {
    let (queues, started) = (Arc::<Queues>::default(), Instant::now());
    let store = FaultyStore::failing_inserts(memory(), |task| match task.id.as_str() {
        "lost" => Some(Fault::LostRequest),
        _ => None,
    });
    let batch = [message("lost", "{}"), message("good", "{}")];
    let report = work(&ingest(Arc::new(store), &queues), &batch).await;
    assert_eq!(
        (report.created, report.returned),
        (1, vec!["lost".to_owned()])
    );
    assert!(
        started.elapsed() < Duration::from_secs(11),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_newest_messages_are_written_first() {
    let queues = Arc::<Queues>::default();
    let written = Arc::new(std::sync::Mutex::new(vec![]));
    let log = written.clone();
    let store = Arc::new(FaultyStore::failing_inserts(memory(), move |task| {
        log.lock().unwrap().push(task.created);
        None
    }));
    let batch: Vec<_> = [5, 90, 30, 60]
        .iter()
        .map(|ago| Delivery {
            sent: NOW.minus(Duration::from_secs(*ago)),
            ..message(&format!("m{ago}"), "{}")
        })
        .collect();
    work(&ingest(store, &queues), &batch).await;
    let ages: Vec<_> = written
        .lock()
        .unwrap()
        .iter()
        .map(|at: &Millis| NOW.since(*at).as_secs())
        .collect();
    assert_eq!(ages, [5, 30, 60, 90]);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_messages_are_one_batch() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let batch: Vec<_> = (0..10_000)
        .map(|n| match n % 100 {
            0 => message(&format!("m{n}"), "{"),
            1 => message(&format!("m{n}"), r#"{"ttlSeconds": 1}"#),
            _ => message(&format!("m{n}"), json!({"payload": {"n": n}})),
        })
        .collect();
    let report = work(&ingest(store.clone(), &queues), &batch).await;
    assert_eq!(
        (report.created, report.rejected, report.shed.counted()),
        (9_800, 100, 100)
    );
    assert_eq!(report.returned, Vec::<String>::new());
    assert_eq!(store.records().len(), 9_800);
    assert_eq!(SETTINGS.parallel, 8);
}
