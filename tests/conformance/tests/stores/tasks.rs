//! Tasks: transition conditions and lost acknowledgements. The reference (`tests/reference`) checks
//! the result of each transition.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::store::{PageQuery, QueueStore, TakeOutcome, Written};
use lifo_queue::task::{Counts, Return};
use lifo_queue::time::Millis;

on_every_store! {
    a_page_that_starts_below_its_bound_is_rejected,
    a_take_is_exclusive,
    a_lost_acknowledgement_of_a_take_is_recognised,
    only_a_due_and_unexpired_task_is_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    worker_with_an_ended_lease_cannot_settle_or_return_the_task,
}

async fn a_take_is_exclusive(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let takes = (0..32).map(|_| async { store.take(&wish(candidate("a"))).await.unwrap() });
    let outcomes = join_all(takes).await;
    let won = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, TakeOutcome::Won(_)))
        .count();
    let lost = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, TakeOutcome::Lost))
        .count();
    assert_eq!((won, lost), (1, 31));
}

async fn a_lost_acknowledgement_of_a_take_is_recognised(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let wish = wish(candidate("a"));
    let first = store.take(&wish).await.unwrap();
    let TakeOutcome::Won(taken) = &first else {
        panic!("{first:?}")
    };
    assert_eq!(taken.task.attempt, 1);
    assert_eq!(store.take(&wish).await.unwrap(), first);
}

async fn only_a_due_and_unexpired_task_is_taken(store: Arc<dyn QueueStore>) {
    insert(&*store, &["backoff"]).await;
    let lease = take(&*store, "backoff").await.lease;
    let back = Return {
        not_before: NOW.plus(Duration::from_secs(5)),
        ..back(Counts::Attempt, false)
    };
    assert_eq!(
        store.return_task(&lease, &back, NOW).await.unwrap(),
        Written::Done
    );

    let mut expired = new_task("expired", 0);
    expired.expires_at = NOW.floor_seconds();
    store.insert(&expired).await.unwrap();
    for id in ["backoff", "expired", "absent"] {
        assert!(loses_take(&*store, id).await, "{id}");
    }
}

async fn settling_needs_the_token(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let mut forged = lease.clone();
    forged.token = wish(candidate("a")).token;
    assert_eq!(settle(&*store, &forged).await, Written::Lost);
    assert_eq!(settle(&*store, &lease).await, Written::Done);
    assert!(loses_take(&*store, "a").await);
}

async fn a_lost_acknowledgement_of_a_settlement_is_recognised(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    for _ in 0..2 {
        assert_eq!(fail(&*store, &lease).await, Written::Done);
    }
    assert_eq!(settle(&*store, &lease).await, Written::Lost);
}

async fn worker_with_an_ended_lease_cannot_settle_or_return_the_task(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let late = take(&*store, "a").await.lease;
    let back = back(Counts::Attempt, false);
    store.return_task(&late, &back, NOW).await.unwrap();
    let holder = take(&*store, "a").await.lease;
    assert_eq!(settle(&*store, &late).await, Written::Lost);
    assert_eq!(
        store.return_task(&late, &back, NOW).await.unwrap(),
        Written::Lost
    );
    assert_eq!(settle(&*store, &holder).await, Written::Done);
}

async fn a_page_that_starts_below_its_bound_is_rejected(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b", "c"]).await;
    let first = first_page(2);
    let page = store.pending_page(&first).await.unwrap();
    // The page ended with `b`, which was created one millisecond after `NOW`.
    for (bound, rejected) in [(1, false), (2, true)] {
        let rest = PageQuery {
            created_from: Some(Millis(NOW.0 + bound)),
            after: page.next.clone(),
            ..first.clone()
        };
        let pending = store.pending_page(&rest).await.map(drop);
        let taken = store.taken_page(&rest).await.map(drop);
        for result in [pending, taken] {
            assert_eq!(result.is_err_and(|error| error.is_validation()), rejected);
        }
    }
}
