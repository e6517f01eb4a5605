//! Admission: tasks that a storm sheds before the first write.

use std::sync::Arc;
use std::time::Duration;

use conformance::NOW;
use lifo_queue::control::{IdleTurns, Release};
use lifo_queue::ingest::{AdmissionSettings, Delivery, Ingest, IngestSettings};
use lifo_queue::observed::Capacity;
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{AdmissionStore, ControlStore, Counts, Mark, QueueStore, TaskStore};
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;

use super::world::*;

const SETTINGS: IngestSettings = IngestSettings {
    admission: Some(AdmissionSettings {
        factor: 3,
        most_held: 120_000,
    }),
    ..super::world::SETTINGS
};

/// Stores a capacity in the control item, and a mark from one second ago with `held` held tasks.
/// Records that 10,000 tasks have arrived since the mark.
async fn leave(store: &(impl ControlStore + AdmissionStore), capacity: f64, held: u64) {
    let claim = conformance::claim("before", NOW);
    store.acquire(&claim, NOW).await.unwrap();
    let mut release: Release = conformance::release(claim.owner, None, IdleTurns::Add);
    release.carried.observed.capacity = Some(Capacity::new(capacity, NOW));
    store.release(&release).await.unwrap();
    let mark = Mark {
        at: NOW.minus(Duration::from_secs(1)),
        held,
        received: 0,
        admitted: 0,
    };
    store.meter(Counts::default(), Some(mark)).await.unwrap();
    let arrived = Counts {
        received: 10_000,
        admitted: 0,
    };
    store.meter(arrived, None).await.unwrap();
}

fn admitting(
    tasks: Arc<dyn TaskStore>,
    meter: Arc<dyn AdmissionStore>,
    queues: &Arc<Queues>,
) -> Ingest {
    let shed = ShedCounter::new(Some(Arc::new(Sink(queues.clone()))));
    Ingest::new(tasks, queues.clone(), shed, Arc::new(Still), SETTINGS).admitting_by(meter)
}

fn messages(count: usize, body: &str) -> Vec<Delivery> {
    (0..count)
        .map(|n| message(&format!("m{n}"), body))
        .collect()
}

async fn meter_counts_and_keeps_the_last_mark(store: impl QueueStore + AdmissionStore) {
    let counts = Counts {
        received: 10,
        admitted: 3,
    };
    let (meter, control) = store.meter(counts, None).await.unwrap();
    assert_eq!((meter.received, meter.admitted, meter.mark), (10, 3, None));
    assert_eq!(control, store.control().await.unwrap());
    let mark = Some(Mark {
        at: NOW,
        held: 7,
        received: 10,
        admitted: 3,
    });
    store.meter(counts, mark).await.unwrap();
    let (meter, _) = store.meter(counts, None).await.unwrap();
    assert_eq!((meter.received, meter.admitted, meter.mark), (30, 9, mark));
    leave(&store, 12.5, 0).await;
    let (_, control) = store.meter(counts, None).await.unwrap();
    assert_eq!(control.capacity(NOW), Some(12.5));
}

#[tokio::test]
async fn memory_meter_counts_and_keeps_the_last_mark() {
    meter_counts_and_keeps_the_last_mark(MemoryStore::new()).await;
}

#[tokio::test]
async fn dynamodb_meter_counts_and_keeps_the_last_mark() {
    let client = conformance::database().client();
    meter_counts_and_keeps_the_last_mark(DynamoStore::new(client, simulator::dynamodb::TABLE))
        .await;
}

#[tokio::test(start_paused = true)]
async fn storm_is_partly_admitted_and_the_rest_is_counted_as_shed() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::default());
    leave(&*store, 100.0, 1_000_000).await;
    let ingest = admitting(store.clone(), store.clone(), &queues);
    let report = work(&ingest, &messages(10_000, "{}")).await;
    assert!((80..240).contains(&report.created), "{}", report.created);
    assert_eq!(report.created + report.shed.counted(), 10_000);
    assert_eq!(u64::from(report.shed.not_admitted), report.shed.counted());
    assert_eq!(
        queues.shed.lock().unwrap().len() as u64,
        report.shed.counted()
    );
    assert_eq!(report.returned, Vec::<String>::new());
    // A second later, the process has reported its counts.
    tokio::time::sleep(Duration::from_secs(2)).await;
    work(&ingest, &messages(1, "{}")).await;
    let (meter, _) = store.meter(Counts::default(), None).await.unwrap();
    assert_eq!((meter.received, meter.admitted), (20_000, report.created));
}

#[tokio::test(start_paused = true)]
async fn keyed_delayed_and_redelivered_tasks_are_always_admitted() {
    for (body, receives) in [
        ("{\"key\":\"k\"}", 1),
        ("{\"delaySeconds\":5}", 1),
        ("{}", 2),
    ] {
        let (store, queues) = (Arc::new(MemoryStore::new()), Arc::default());
        leave(&*store, 1.0, 1_000_000).await;
        let ingest = admitting(store.clone(), store.clone(), &queues);
        let mut batch = messages(200, body);
        for message in &mut batch {
            message.receives = receives;
        }
        let report = work(&ingest, &batch).await;
        assert_eq!(report.shed.counted(), 0, "{body}");
        assert_eq!(report.created + report.superseded, 200, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn message_partly_accepted_by_the_shed_queue_is_not_counted() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    leave(&*store, 1.0, 1_000_000).await;
    queues.keeps_out.lock().unwrap().insert("m1#1".to_owned());
    let ingest = admitting(store.clone(), store.clone(), &queues);
    let mut batch = messages(3, "[{},{}]");
    let report = work(&ingest, &batch).await;
    assert_eq!(report.shed.counted(), 2);
    assert_eq!(report.returned, ["m1", "m2"]);
    batch.remove(0);
    for message in &mut batch {
        message.receives += 1;
    }
    let report = work(&ingest, &batch).await;
    assert_eq!((report.created, report.shed.counted()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn task_is_not_counted_as_shed_while_its_message_fails_at_the_dead_letter_queue() {
    for (fails, slow) in [(true, Duration::ZERO), (false, Duration::from_secs(60))] {
        let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
        leave(&*store, 1.0, 1_000_000).await;
        let ingest = admitting(store.clone(), store.clone(), &queues);
        let mut batch = messages(100, "[{},5]");
        if fails {
            let ids = batch.iter().map(|message| message.id.clone());
            queues.rejects.lock().unwrap().extend(ids);
        }
        *queues.slow.lock().unwrap() = slow;
        let report = work(&ingest, &batch).await;
        assert_eq!((report.shed.counted(), report.returned.len()), (0, 100));
        queues.rejects.lock().unwrap().clear();
        *queues.slow.lock().unwrap() = Duration::ZERO;
        for message in &mut batch {
            message.receives += 1;
        }
        let report = work(&ingest, &batch).await;
        assert_eq!((report.created, report.shed.counted()), (100, 0));
        assert_eq!((report.rejected, report.returned.len()), (100, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn created_and_shed_tasks_add_up_to_all_tasks_despite_partial_failures() {
    for seed in simulator::seeds::Seeds::of(0..200).range {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (store, queues) = (Arc::new(MemoryStore::new()), Arc::default());
        leave(&*store, f64::from(rng.u32(1..2_000)), 1_000_000).await;
        let (share, mut faults) = (rng.u32(1..60), rng.fork());
        let faults = std::sync::Mutex::new(move || faults.u32(0..100) < share);
        let failing = FaultyStore::failing_inserts(store.clone(), move |_| {
            (faults.lock().unwrap())().then_some(Fault::Throttled)
        });
        let ingest = admitting(Arc::new(failing), store.clone(), &queues);
        let mut batch = messages(100, "[{},{},{}]");
        let (mut shed, mut rounds) = (0, 0);
        while !batch.is_empty() {
            let report = work(&ingest, &batch).await;
            shed += report.shed.counted();
            batch.retain(|message| report.returned.contains(&message.id));
            for message in &mut batch {
                message.receives += 1;
            }
            rounds += 1;
            assert!(rounds < 1_000, "seed {seed}");
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        let created = store.records().len() as u64;
        assert_eq!(created + shed, 300, "seed {seed}");
        assert_eq!(
            queues.shed.lock().unwrap().len() as u64,
            shed,
            "seed {seed}"
        );
    }
}
