//! Turns with keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{Table, state};
use lifo_queue::runner::Outcome;
use lifo_queue::store::Order;
use lifo_queue::task::{Place, Task, TaskStatus, Version};
use tokio::time::sleep;

use super::world::{SECOND, World, at_once, retry};

conformance::on_both_stores! {
    latest_state_written_during_a_run_runs_next,
    overtaken_state_is_superseded_instead_of_retried,
    key_pending_longest_runs_first_with_its_newest_state,
    oldest_first_works_through_many_pages_in_order,
    newer_state_of_a_key_with_an_expired_lease_runs_alone,
}

async fn put(store: &dyn Table, key: &str, sequence: u64) {
    store
        .insert(&state(key, sequence, Place::Moves))
        .await
        .unwrap();
}

/// A world whose runs take one second. It records the idempotency key of each run.
fn remembering(outcome: impl Fn(&Task) -> Outcome + Send + Sync + 'static) -> (World, Ran) {
    let ran = Ran::default();
    let remembers = ran.clone();
    let world = World::new(move |task| {
        remembers.lock().unwrap().push(task.idempotency_key());
        (SECOND, outcome(task))
    });
    (world, ran)
}

type Ran = Arc<Mutex<Vec<String>>>;

fn key(key: &str, sequence: u64) -> String {
    format!("{key}:s{sequence:020}")
}

async fn latest_state_written_during_a_run_runs_next() {
    let (world, ran) = remembering(|_| Outcome::Success);
    put(&*world.store, "k", 1).await;
    let producer = async {
        for sequence in 2..=4 {
            sleep(Duration::from_millis(200)).await;
            put(&*world.store, "k", sequence).await;
        }
    };
    let (summary, ()) = tokio::join!(world.turn(), producer);
    assert_eq!(*ran.lock().unwrap(), [key("k", 1), key("k", 4)]);
    assert_eq!((summary.succeeded, summary.lost_races), (2, 0));
    let record = world.record("k");
    assert_eq!((record.status, record.superseded), (TaskStatus::Success, 2));
}

async fn overtaken_state_is_superseded_instead_of_retried() {
    let (world, ran) =
        remembering(
            |task| match task.version.as_ref().and_then(Version::sequence) {
                Some(1) => retry(),
                _ => Outcome::Success,
            },
        );
    put(&*world.store, "k", 1).await;
    let producer = async {
        sleep(Duration::from_millis(500)).await;
        put(&*world.store, "k", 2).await;
    };
    let (summary, ()) = tokio::join!(world.turn(), producer);
    assert_eq!(*ran.lock().unwrap(), [key("k", 1), key("k", 2)]);
    assert_eq!(
        (summary.retried, summary.superseded, summary.succeeded),
        (1, 1, 1)
    );
}

async fn key_pending_longest_runs_first_with_its_newest_state() {
    let mut world = World::new(|_| at_once());
    world.settings.order = Order::OldestFirst;
    world.settings.slots = 1;
    for (key, sequence) in [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("b", 5), ("a", 6)] {
        let state = state(key, sequence, Place::Stays);
        world.store.insert(&state).await.unwrap();
    }
    let summary = world.turn().await;
    assert_eq!(world.started(), ["a", "b", "c"]);
    assert_eq!(summary.succeeded, 3);
    let version = world.record("a").version.unwrap();
    assert_eq!(version, Version::by_sequence(6));
}

/// The queue has more keys than an index page holds. A pass from the oldest end skips none of them.
async fn oldest_first_works_through_many_pages_in_order() {
    let mut world = World::of(1_500, |_| at_once()).await;
    world.settings.order = Order::OldestFirst;
    world.settings.slots = 1;
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 1_500);
    let started = world.started();
    assert!(started.is_sorted(), "{:?}", &started[..20]);
}

/// Even a newer state, which starts with zero attempts, must run alone after an expired lease.
async fn newer_state_of_a_key_with_an_expired_lease_runs_alone() {
    let world = World::new(|_| at_once());
    let mut suspect = lifo_queue::store::Candidate {
        lease_expired: true,
        ..conformance::candidate("k")
    };
    assert!(world.settings.must_run_alone(&suspect));
    suspect.attempts = 1;
    assert!(!world.settings.must_run_alone(&suspect));
}
