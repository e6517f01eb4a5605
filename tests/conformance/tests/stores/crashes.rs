//! Keys that crash their processes.

use std::sync::Arc;

use conformance::*;
use lifo_queue::store::{Inserted, QueueStore, Replaced, Written};
use lifo_queue::task::{Lease, Reclaim};

use super::keys::{put, state, taken};

on_every_store! {
    key_that_crashes_its_processes_fails_despite_newer_states,
}

async fn key_that_crashes_its_processes_fails_despite_newer_states(store: Arc<dyn QueueStore>) {
    let (max_crashes, keep_until) = (3, NOW.floor_seconds());
    let back = Reclaim::Return {
        not_before: NOW,
        max_crashes,
    };
    let fail = Reclaim::FailCrashing {
        keep_until,
        max_crashes,
    };
    let swept = async |lease: &Lease, reclaim: &Reclaim| {
        let reclaimed = store.reclaim(lease, reclaim, lease.until);
        reclaimed.await.unwrap()
    };
    put(&*store, &state(1)).await;
    let first = take_alone(&*store, "k").await.lease;
    assert_eq!(swept(&first, &fail).await, Written::Lost);
    assert_eq!(swept(&first, &back).await, Written::Done);
    put(&*store, &state(2)).await;
    let second = take_alone(&*store, "k").await.lease;
    put(&*store, &state(3)).await;
    // The newer state still has all its attempts.
    let last_attempt = Reclaim::Fail { keep_until };
    assert_eq!(swept(&second, &last_attempt).await, Written::Lost);
    assert_eq!(swept(&second, &fail).await, Written::Lost);
    assert_eq!(swept(&second, &back).await, Written::Overtaken);
    let third = take_alone(&*store, "k").await.lease;
    put(&*store, &state(4)).await;
    assert_eq!(swept(&third, &back).await, Written::Lost);
    assert_eq!(swept(&third, &fail).await, Written::Overtaken);
    assert!(pending(&*store).await.is_empty());
    // The newer state can run once, but only alone.
    let replaced = put(&*store, &state(5)).await;
    assert_eq!(replaced, Inserted::Replaced(Replaced::Settled));
    assert!(pending(&*store).await[0].lease_expired);
    let fifth = take_alone(&*store, "k").await.lease;
    assert_eq!(swept(&fifth, &back).await, Written::Lost);
    assert_eq!(swept(&fifth, &fail).await, Written::Done);
    // Another task may have crashed the process.
    put(&*store, &state(6)).await;
    let sixth = taken(&*store, 6).await;
    assert_eq!(swept(&sixth.lease, &fail).await, Written::Lost);
    assert_eq!(swept(&sixth.lease, &back).await, Written::Done);
}
