//! Quarantine of tasks that cannot be taken.

use std::sync::Arc;

use conformance::*;
use lifo_queue::store::{Candidate, QueueStore, Written};
use lifo_queue::task::Ttl;
use lifo_queue::time::{EpochSeconds, Millis};

use super::keys::{put, state};

on_every_store! {
    only_a_pending_task_is_quarantined,
    a_task_that_changed_since_it_was_seen_is_not_quarantined,
    a_newer_state_is_not_quarantined_for_an_older_one,
}

async fn quarantine(store: &dyn QueueStore, seen: &Candidate) -> Written {
    let until = NOW.floor_seconds();
    let quarantined = store.quarantine(seen, "bad item", until, NOW);
    quarantined.await.unwrap()
}

async fn only_a_pending_task_is_quarantined(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b"]).await;
    let lease = take(&*store, "a").await.lease;
    assert_eq!(quarantine(&*store, &inserted("a", 0)).await, Written::Lost);
    assert_eq!(quarantine(&*store, &inserted("b", 1)).await, Written::Done);
    assert!(loses_take(&*store, "b").await);
    assert_eq!(settle(&*store, &lease).await, Written::Done);
}

async fn a_task_that_changed_since_it_was_seen_is_not_quarantined(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let seen = inserted("a", 0);
    let at = new_task("a", 0).expires_at.0;
    let ttls = [
        Ttl::Missing,
        Ttl::Malformed,
        Ttl::Seconds(EpochSeconds(at + 1)),
        Ttl::Milliseconds(Millis(at * 1_000)),
    ];
    let others = ttls.map(|ttl| Candidate {
        ttl,
        ..seen.clone()
    });
    let created = Millis(seen.created.0 - 1);
    let older = Candidate {
        created,
        ..seen.clone()
    };
    for other in others.iter().chain([&older]) {
        assert_eq!(quarantine(&*store, other).await, Written::Lost, "{other:?}");
    }
    assert_eq!(quarantine(&*store, &seen).await, Written::Done);
}

async fn a_newer_state_is_not_quarantined_for_an_older_one(store: Arc<dyn QueueStore>) {
    for sequence in [1, 2] {
        put(&*store, &state(sequence)).await;
    }
    assert_eq!(quarantine(&*store, &inserted("k", 1)).await, Written::Lost);
    assert_eq!(take(&*store, "k").await.task.payload["n"], 2);
}
