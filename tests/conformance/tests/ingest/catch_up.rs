//! The ingest receives messages itself while the queue has a backlog.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use conformance::{NOW, memory};
use lifo_queue::ingest::{Delivery, Ingest, IngestReport};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::task::NewTask;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use simulator::layered::Layered;
use simulator::layered::tasks::{Layer, TaskCall};
use tokio::time::Instant;

use super::world::*;

/// A message that was first received two seconds after it was sent.
fn late(id: impl ToString) -> Delivery {
    Delivery {
        first_received: NOW.minus(Duration::from_secs(58)),
        ..message(&id.to_string(), "{}")
    }
}

fn all_late(count: usize) -> impl Iterator<Item = Delivery> {
    (0..count).map(|number| late(format!("late{number}")))
}

fn again(number: usize) -> Delivery {
    Delivery {
        receives: 2,
        ..late(format!("again{number}"))
    }
}

/// A store whose calls take this long.
struct Slow(Duration, Arc<dyn QueueStore>);

#[async_trait]
impl Layer for Slow {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        tokio::time::sleep(self.0).await;
        call.on(self.1.clone()).await
    }
}

/// Processes a batch of Lambda and then the backlog. Returns the requests and counts in order.
async fn caught_up(ingest: &Ingest, queues: &Queues, batch: &[Delivery]) -> Vec<Step> {
    let deadlines = deadlines();
    let report = ingest.work(batch, deadlines).await;
    let count = |report: &IngestReport| {
        let (messages, created) = (report.messages, report.created);
        let step = Step::Count { messages, created };
        queues.steps.lock().unwrap().push(step);
    };
    ingest.catch_up(batch, &report, deadlines, count).await;
    std::mem::take(&mut *queues.steps.lock().unwrap())
}

fn counted(steps: &[Step]) -> Vec<usize> {
    let counts = steps.iter().filter_map(|step| match step {
        Step::Count { messages, .. } => Some(*messages),
        _ => None,
    });
    counts.collect()
}

#[tokio::test(start_paused = true)]
async fn late_message_makes_the_ingest_receive_until_the_queue_is_nearly_empty() {
    let (store, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let ingest = ingest(store.clone(), &queues);
    let new = (0..30).map(|number| message(&format!("new{number}"), "{}"));
    let backlog = all_late(130).chain((0..40).map(again)).chain(new);
    queues.visible.lock().unwrap().extend(backlog);
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    // The new messages, and then the newest of the others, twenty at a time.
    assert_eq!(counted(&steps), [30, 20, 20, 20, 20, 20, 20, 20, 20, 10]);
    assert_eq!(store.records().len(), 201);
}

#[tokio::test(start_paused = true)]
async fn new_and_redelivered_messages_do_not_make_the_ingest_receive() {
    let queues = Arc::<Queues>::default();
    let ingest = ingest(memory(), &queues);
    let steps = caught_up(&ingest, &queues, &[message("new", "{}"), again(0)]).await;
    assert_eq!(steps, []);
}

#[tokio::test(start_paused = true)]
async fn messages_are_counted_before_their_deletion_and_deleted_before_the_next_receive() {
    let queues = Arc::<Queues>::default();
    let ingest = ingest(memory(), &queues);
    queues.visible.lock().unwrap().push_back(late("second"));
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    let [
        Step::Delete(batch),
        Step::Receive(hidden),
        count,
        Step::Delete(round),
    ] = &steps[..]
    else {
        panic!("{steps:?}")
    };
    assert_eq!(
        (&batch[..], &round[..]),
        (
            &["receipt of first".to_owned()][..],
            &["receipt of second".to_owned()][..]
        )
    );
    assert_eq!(
        *count,
        Step::Count {
            messages: 1,
            created: 1
        }
    );
    // The function ends a second after the report, which has twelve seconds.
    assert!(Duration::from_secs(17) < *hidden && *hidden <= Duration::from_secs(18));
}

#[tokio::test(start_paused = true)]
async fn failed_deletion_ends_the_rounds() {
    let queues = Arc::<Queues>::default();
    let ingest = ingest(memory(), &queues);
    queues.visible.lock().unwrap().extend(all_late(100));
    *queues.keeps.lock().unwrap() = true;
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    assert_eq!(steps, [Step::Delete(vec!["receipt of first".to_owned()])]);
}

#[tokio::test(start_paused = true)]
async fn failed_deletion_of_a_round_ends_the_rounds_and_returns_the_kept_messages() {
    let (queues, deadlines) = (Arc::<Queues>::default(), deadlines());
    let ingest = ingest(memory(), &queues);
    queues.visible.lock().unwrap().extend(all_late(200));
    let batch = [late("first")];
    let first = ingest.work(&batch, deadlines).await;
    let count = |_: &IngestReport| *queues.keeps.lock().unwrap() = true;
    ingest.catch_up(&batch, &first, deadlines, count).await;
    let steps = std::mem::take(&mut *queues.steps.lock().unwrap());
    let is_deletion = |step: &&Step| matches!(step, Step::Delete(_));
    assert_eq!(steps.iter().filter(is_deletion).count(), 2);
    assert_eq!(queues.postponed.lock().unwrap().len(), 180);
}

#[tokio::test(start_paused = true)]
async fn rounds_end_before_the_deadline() {
    let (queues, started) = (Arc::<Queues>::default(), Instant::now());
    let slow = Slow(Duration::from_millis(60), memory());
    let ingest = ingest(Arc::new(Layered(slow)), &queues);
    queues.visible.lock().unwrap().extend(all_late(10_000));
    caught_up(&ingest, &queues, &[late("first")]).await;
    let passed = started.elapsed();
    assert!(
        Duration::from_secs(7) < passed && passed < Duration::from_secs(9),
        "{passed:?}"
    );
    assert!(!queues.visible.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn failed_messages_of_a_round_are_postponed_and_not_deleted() {
    let queues = Arc::<Queues>::default();
    let store = FaultyStore::failing_inserts(memory(), |task: &NewTask| match task.id.as_str() {
        "late3" => Some(Fault::Throttled),
        _ => None,
    });
    let ingest = ingest(Arc::new(store), &queues);
    queues.visible.lock().unwrap().extend(all_late(5));
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    let mut deletions = steps.iter().filter_map(|step| match step {
        Step::Delete(receipts) => Some(receipts),
        _ => None,
    });
    let deleted = deletions.next_back().unwrap();
    let postponed = queues.postponed.lock().unwrap();
    let postponed: Vec<_> = postponed.iter().map(|one| one.receipt.clone()).collect();
    assert!(postponed.contains(&"receipt of late3".to_owned()));
    assert!(postponed.iter().all(|receipt| !deleted.contains(receipt)));
    assert_eq!(deleted.len() + postponed.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn new_messages_overtake_the_old_ones_that_the_ingest_keeps() {
    let queues = Arc::<Queues>::default();
    let store = Arc::new(MemoryStore::new());
    let slow = Slow(Duration::from_millis(60), store.clone());
    let ingest = ingest(Arc::new(Layered(slow)), &queues);
    let new = (0..20).map(|number| Delivery {
        sent: NOW.minus(Duration::from_secs(1)),
        first_received: NOW,
        ..message(&format!("new{number}"), "{}")
    });
    let backlog = all_late(300).chain(new);
    queues.visible.lock().unwrap().extend(backlog);
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    let is_deletion = |step: &&Step| matches!(step, Step::Delete(_));
    let Some(Step::Delete(second)) = steps.iter().filter(is_deletion).nth(1) else {
        panic!("{steps:?}")
    };
    let is_new = |receipt: &&String| receipt.contains("new");
    assert_eq!(second.iter().filter(is_new).count(), 20);
    assert_eq!(store.records().len(), 321);
}

#[tokio::test(start_paused = true)]
async fn oldest_messages_are_postponed_if_the_ingest_keeps_more_than_a_thousand() {
    let queues = Arc::<Queues>::default();
    let store = Arc::new(MemoryStore::new());
    let ingest = ingest(store.clone(), &queues);
    queues.visible.lock().unwrap().extend(all_late(2_000));
    caught_up(&ingest, &queues, &[late("first")]).await;
    let postponed = queues.postponed.lock().unwrap();
    let least = Duration::from_secs(15);
    assert!(postponed.iter().all(|one| one.by >= least));
    assert!(
        (500..1_500).contains(&postponed.len()),
        "{}",
        postponed.len()
    );
    assert_eq!(store.records().len() + postponed.len(), 2_001);
}

#[tokio::test(start_paused = true)]
async fn messages_kept_at_the_deadline_become_visible_again() {
    let queues = Arc::<Queues>::default();
    let store = Arc::new(MemoryStore::new());
    let slow = Slow(Duration::from_millis(400), store.clone());
    let ingest = ingest(Arc::new(Layered(slow)), &queues);
    queues.visible.lock().unwrap().extend(all_late(500));
    let steps = caught_up(&ingest, &queues, &[late("first")]).await;
    let deleted = steps.iter().map(|step| match step {
        Step::Delete(receipts) => receipts.len(),
        _ => 0,
    });
    let deleted: usize = deleted.sum();
    let postponed = queues.postponed.lock().unwrap().len();
    assert_eq!((deleted, deleted + postponed), (store.records().len(), 501));
    assert!(postponed > 0);
    assert_eq!(counted(&steps).iter().sum::<usize>(), 500);
}
