//! States of a key that are written while an older one runs.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::store::{Inserted, QueueStore, Replaced, TakeOutcome, Written};
use lifo_queue::task::Reclaim;
use lifo_queue::time::Millis;

use super::keys::{delayed, put, state, taken};

on_every_store! {
    state_written_during_a_run_is_pending_after_its_end,
    lost_acknowledgement_of_an_overtaken_settlement_is_recognised,
    reclaim_of_an_overtaken_state_returns_the_newer_one,
    newer_state_keeps_the_backoff_and_the_expired_lease_mark,
    take_repeated_after_its_lease_ended_is_lost,
}

async fn state_written_during_a_run_is_pending_after_its_end(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = taken(&*store, 1).await;
    let second = put(&*store, &state(2)).await;
    assert_eq!(second, Inserted::Replaced(Replaced::Running));
    let third = put(&*store, &state(3)).await;
    assert_eq!(third, Inserted::Replaced(Replaced::Waiting));
    assert_eq!(put(&*store, &state(1)).await, Inserted::Outdated);
    // One run at a time.
    assert!(pending(&*store).await.is_empty());
    assert!(loses_take(&*store, "k").await);
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    let waits = pending(&*store).await;
    assert_eq!((waits[0].attempts, waits[0].not_before), (0, None));
    assert_eq!(waits[0].created, Millis(NOW.0 + 3));
    let last = taken(&*store, 3).await;
    assert_eq!(settle(&*store, &last.lease).await, Written::Done);
}

async fn lost_acknowledgement_of_an_overtaken_settlement_is_recognised(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = taken(&*store, 1).await;
    put(&*store, &state(2)).await;
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    // The same if the pending state was replaced meanwhile.
    put(&*store, &state(3)).await;
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    let third = taken(&*store, 3).await;
    assert_eq!(settle(&*store, &first.lease).await, Written::Lost);
    // The same if a newer state was written after a settlement without an acknowledgement.
    assert_eq!(settle(&*store, &third.lease).await, Written::Done);
    put(&*store, &state(4)).await;
    assert_eq!(settle(&*store, &third.lease).await, Written::Overtaken);
    taken(&*store, 4).await;
}

async fn reclaim_of_an_overtaken_state_returns_the_newer_one(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = take_alone(&*store, "k").await;
    put(&*store, &state(2)).await;
    let until = first.lease.until;
    let fail = Reclaim::Fail {
        keep_until: NOW.floor_seconds(),
    };
    let failed = store.reclaim(&first.lease, &fail, until).await.unwrap();
    assert_eq!(failed, Written::Lost, "the newer state did not fail");
    let back = swept_back();
    let early = until.minus(Duration::from_millis(1));
    let reclaimed = store.reclaim(&first.lease, &back, early).await.unwrap();
    assert_eq!(reclaimed, Written::Lost);
    let reclaimed = store.reclaim(&first.lease, &back, until).await.unwrap();
    assert_eq!(reclaimed, Written::Overtaken);
    assert_eq!(
        settle(&*store, &first.lease).await,
        Written::Lost,
        "a late worker"
    );
    let waits = &pending(&*store).await[0];
    assert_eq!((waits.attempts, waits.lease_expired), (0, true));
    taken(&*store, 2).await;
}

async fn newer_state_keeps_the_backoff_and_the_expired_lease_mark(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = taken(&*store, 1).await;
    let retried = delayed(true, true);
    let given = store.return_task(&first.lease, &retried, NOW);
    assert_eq!(given.await.unwrap(), Written::Done);
    put(&*store, &state(2)).await;
    let waits = &pending(&*store).await[0];
    assert_eq!(waits.not_before, Some(NOW.plus(Duration::from_millis(500))));
    assert_eq!((waits.attempts, waits.lease_expired), (0, true));

    let mut request = wish(candidate("k"));
    request.now = NOW.plus(Duration::from_secs(1));
    let second = take_by(&*store, &request).await;
    let back = swept_back();
    let until = second.lease.until;
    store.reclaim(&second.lease, &back, until).await.unwrap();
    put(&*store, &state(3)).await;
    let waits = &pending(&*store).await[0];
    assert_eq!((waits.attempts, waits.lease_expired), (0, true));
}

/// Otherwise a repeated settlement of the first state would settle the second, which never ran.
async fn take_repeated_after_its_lease_ended_is_lost(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let request = wish(candidate("k"));
    let first = take_by(&*store, &request).await;
    put(&*store, &state(2)).await;
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    let late = store.take(&request).await.unwrap();
    assert_eq!(late, TakeOutcome::Lost);
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    taken(&*store, 2).await;
}
