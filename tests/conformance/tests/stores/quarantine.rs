//! Quarantine of tasks that can't be taken.

use std::sync::Arc;

use conformance::*;
use lifo_queue::store::{Candidate, QueueStore, Written};
use lifo_queue::task::Ttl;
use lifo_queue::time::{EpochSeconds, Millis};

on_every_store! {
    a_task_that_changed_since_it_was_seen_is_not_quarantined,
}

async fn a_task_that_changed_since_it_was_seen_is_not_quarantined(store: Arc<dyn QueueStore>) {
    let until = NOW.floor_seconds();
    let quarantine = async |seen| {
        store
            .quarantine(seen, "bad item", until, NOW)
            .await
            .unwrap()
    };
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
        assert_eq!(quarantine(other).await, Written::Lost, "{other:?}");
    }
    assert_eq!(quarantine(&seen).await, Written::Done);
}
