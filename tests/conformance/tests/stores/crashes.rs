//! Keys that crash their processes.

use std::sync::Arc;

use conformance::*;
use lifo_queue::store::{Inserted, QueueStore, Replaced, TakeOutcome, Written};
use lifo_queue::task::{Lease, Reclaim};

use super::keys::{put, settle, state, taken, waiting};

on_every_store! {
    key_that_crashes_its_processes_fails_despite_newer_states,
    settled_run_resets_the_crashes_of_its_key,
}

async fn crash(store: &dyn QueueStore) -> Lease {
    let mut request = wish(candidate("k"));
    request.alone = true;
    let TakeOutcome::Won(taken) = store.take(&request).await.unwrap() else {
        panic!()
    };
    taken.lease
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
    let first = crash(&*store).await;
    assert_eq!(swept(&first, &fail).await, Written::Lost);
    assert_eq!(swept(&first, &back).await, Written::Done);
    put(&*store, &state(2)).await;
    let second = crash(&*store).await;
    put(&*store, &state(3)).await;
    assert_eq!(swept(&second, &fail).await, Written::Lost);
    assert_eq!(swept(&second, &back).await, Written::Overtaken);
    let third = crash(&*store).await;
    put(&*store, &state(4)).await;
    assert_eq!(swept(&third, &back).await, Written::Lost);
    assert_eq!(swept(&third, &fail).await, Written::Overtaken);
    assert!(waiting(&*store).await.is_empty());
    // A newer state has one run, alone.
    let replaced = put(&*store, &state(5)).await;
    assert_eq!(replaced, Inserted::Replaced(Replaced::Settled));
    assert!(waiting(&*store).await[0].lease_expired);
    let fifth = crash(&*store).await;
    assert_eq!(swept(&fifth, &back).await, Written::Lost);
    assert_eq!(swept(&fifth, &fail).await, Written::Done);
    // Another task of the process may have crashed it.
    put(&*store, &state(6)).await;
    let sixth = taken(&*store, 6).await;
    assert_eq!(swept(&sixth.lease, &fail).await, Written::Lost);
    assert_eq!(swept(&sixth.lease, &back).await, Written::Done);
}

async fn settled_run_resets_the_crashes_of_its_key(store: Arc<dyn QueueStore>) {
    let back = Reclaim::Return {
        not_before: NOW,
        max_crashes: 2,
    };
    for (sequence, overtaken) in [(1, false), (3, true), (5, false)] {
        put(&*store, &state(sequence)).await;
        let lease = crash(&*store).await;
        let reclaimed = store.reclaim(&lease, &back, lease.until).await;
        assert_eq!(reclaimed.unwrap(), Written::Done);
        let run = take(&*store, "k").await;
        if overtaken {
            put(&*store, &state(sequence + 1)).await;
        }
        let expected = if overtaken {
            Written::Overtaken
        } else {
            Written::Done
        };
        assert_eq!(settle(&*store, &run).await, expected);
    }
}
