//! Tasks: each transition, its conditions and its lost acknowledgements.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::store::{Inserted, Order, Page, PageQuery, QueueStore, TakeOutcome, Written};
use lifo_queue::task::Return;
use lifo_queue::time::Millis;

on_every_store! {
    creating_is_idempotent,
    repeated_put_after_a_lost_acknowledgement_reports_created,
    pages_are_newest_first_and_continue_where_the_last_ended,
    pages_keep_to_their_bound_and_their_order,
    a_page_that_starts_below_its_bound_is_rejected,
    a_take_is_exclusive,
    take_returns_the_whole_task,
    a_lost_acknowledgement_of_a_take_is_recognised,
    only_a_due_and_unexpired_task_is_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    returned_task_keeps_its_place_and_gets_its_delay,
    a_task_has_its_trace_at_every_attempt,
    busy_return_restores_the_attempt,
    worker_with_an_ended_lease_cannot_settle_or_return_the_task,
}

async fn creating_is_idempotent(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    assert_eq!(
        store.insert(&new_task("a", 9)).await.unwrap(),
        Inserted::Duplicate
    );
    let pending = pending(&*store).await;
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].created, NOW);
}

async fn repeated_put_after_a_lost_acknowledgement_reports_created(store: Arc<dyn QueueStore>) {
    let task = new_task("a", 0);
    assert_eq!(store.insert(&task).await.unwrap(), Inserted::Created);
    assert_eq!(store.insert(&task).await.unwrap(), Inserted::Created);
}

async fn pages_are_newest_first_and_continue_where_the_last_ended(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b", "c", "d", "e"]).await;
    let mut expired = new_task("expired", 99);
    expired.expires_at = NOW.floor_seconds();
    store.insert(&expired).await.unwrap();
    let (mut seen, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = store
            .pending_page(&PageQuery {
                after,
                ..first_page(2)
            })
            .await
            .unwrap();
        seen.extend(page.candidates.iter().map(|task| task.id.to_string()));
        after = page.next;
        pages += 1;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["e", "d", "c", "b", "a"]);
    assert!(pages >= 3, "{pages}");
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

async fn take_returns_the_whole_task(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let taken = take(&*store, "a").await;
    let created = new_task("a", 0);
    assert_eq!(taken.task.task_id, created.id);
    assert_eq!(taken.task.task_created, created.created);
    assert_eq!(taken.task.expires_at, created.expires_at);
    assert_eq!(Some(taken.task.payload), created.payload);
    assert_eq!((taken.task.attempt, taken.task.total_attempts), (1, 1));
    assert!(pending(&*store).await.is_empty());
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
        ..back(true, false)
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

async fn returned_task_keeps_its_place_and_gets_its_delay(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b"]).await;
    let first = take(&*store, "b").await;
    let back = back(true, false);
    for _ in 0..2 {
        let given = store.return_task(&first.lease, &back, NOW).await.unwrap();
        assert_eq!(given, Written::Done);
    }
    let newest = &pending(&*store).await[0];
    assert_eq!(newest.id.as_str(), "b");
    assert_eq!(newest.created, Millis(NOW.0 + 1));
    assert_eq!(newest.not_before, Some(NOW));
    let second = take(&*store, "b").await;
    assert_eq!((second.task.attempt, second.task.total_attempts), (2, 2));
    assert_eq!(second.task.expires_at, first.task.expires_at);
}

async fn a_task_has_its_trace_at_every_attempt(store: Arc<dyn QueueStore>) {
    let mut task = new_task("a", 0);
    task.trace = Some(trace('a'));
    store.insert(&task).await.unwrap();
    let first = take(&*store, "a").await;
    assert_eq!(first.trace, task.trace);
    let back = back(true, false);
    store.return_task(&first.lease, &back, NOW).await.unwrap();
    assert_eq!(take(&*store, "a").await.trace, task.trace);
    let attributes = store.attributes(&task.id).await.unwrap().unwrap();
    assert_eq!(attributes["traceHeader"], trace('a').to_string());
}

async fn busy_return_restores_the_attempt(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let back = back(false, false);
    // Repeated, as after a lost acknowledgement: the attempt is restored once.
    for _ in 0..2 {
        assert_eq!(
            store.return_task(&lease, &back, NOW).await.unwrap(),
            Written::Done
        );
    }
    let again = take(&*store, "a").await;
    assert_eq!((again.task.attempt, again.task.total_attempts), (1, 2));
}

async fn worker_with_an_ended_lease_cannot_settle_or_return_the_task(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let late = take(&*store, "a").await.lease;
    let back = back(true, false);
    store.return_task(&late, &back, NOW).await.unwrap();
    let holder = take(&*store, "a").await.lease;
    assert_eq!(settle(&*store, &late).await, Written::Lost);
    assert_eq!(
        store.return_task(&late, &back, NOW).await.unwrap(),
        Written::Lost
    );
    assert_eq!(settle(&*store, &holder).await, Written::Done);
}

async fn pages_keep_to_their_bound_and_their_order(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b", "c", "d", "e"]).await;
    let ids = |page: Page| {
        let ids = page.candidates.into_iter().map(|task| task.id.to_string());
        ids.collect::<Vec<_>>()
    };
    let from_c = PageQuery {
        created_from: Some(Millis(NOW.0 + 2)),
        ..first_page(10)
    };
    let page = store.pending_page(&from_c).await.unwrap();
    assert_eq!(
        page.next, None,
        "what is below the bound is not even evaluated"
    );
    assert_eq!(ids(page), ["e", "d", "c"]);
    let oldest = PageQuery {
        order: Order::OldestFirst,
        limit: 2,
        ..from_c
    };
    let page = store.pending_page(&oldest).await.unwrap();
    let rest = PageQuery {
        after: page.next.clone(),
        ..oldest
    };
    assert_eq!(ids(page), ["c", "d"]);
    assert_eq!(ids(store.pending_page(&rest).await.unwrap()), ["e"]);
}

async fn a_page_that_starts_below_its_bound_is_rejected(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b", "c"]).await;
    let first = first_page(2);
    let page = store.pending_page(&first).await.unwrap();
    // The page ended at `b`, which was created one millisecond after `NOW`.
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
