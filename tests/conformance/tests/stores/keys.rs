//! Keys: the latest state is kept, and only one state runs at a time.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::store::{Conflict, Inserted, Order, PageQuery, QueueStore, Replaced, Written};
use lifo_queue::task::{Counts, NewTask, Place, Return, TakenTask, Version};
use lifo_queue::time::Millis;

on_every_store! {
    latest_state_wins_in_any_order_of_arrival,
    newest_of_many_concurrent_states_wins,
    returned_state_is_superseded_by_a_newer_one,
    a_failed_state_is_replaced,
    a_state_that_expired_is_shed_and_not_superseded,
    key_and_task_without_a_key_cannot_share_an_id,
    a_key_may_keep_its_place,
    a_state_starts_after_its_own_delay,
    a_state_has_its_own_trace,
}

/// The state of key `k` with this sequence.
pub(super) fn state(sequence: u64) -> NewTask {
    conformance::state("k", sequence, Place::Moves)
}

pub(super) async fn put(store: &dyn QueueStore, state: &NewTask) -> Inserted {
    store.insert(state).await.unwrap()
}

/// Takes the pending state, which must have this sequence.
pub(super) async fn taken(store: &dyn QueueStore, sequence: u64) -> TakenTask {
    let taken = take(store, "k").await;
    assert_eq!(taken.task.version, Some(Version::by_sequence(sequence)));
    assert_eq!(taken.task.payload["n"], sequence);
    assert_eq!((taken.task.attempt, taken.task.total_attempts), (1, 1));
    taken
}

/// A return that makes the task due after half a second.
pub(super) fn delayed(counts: Counts, lease_expired: bool) -> Return {
    Return {
        not_before: NOW.plus(Duration::from_millis(500)),
        ..back(counts, lease_expired)
    }
}

async fn latest_state_wins_in_any_order_of_arrival(store: Arc<dyn QueueStore>) {
    assert_eq!(put(&*store, &state(5)).await, Inserted::Created);
    assert_eq!(put(&*store, &state(3)).await, Inserted::Outdated);
    let replaced = put(&*store, &state(9)).await;
    assert_eq!(replaced, Inserted::Replaced(Replaced::Waiting));
    assert_eq!(put(&*store, &state(7)).await, Inserted::Outdated);
    assert_eq!(put(&*store, &state(9)).await, Inserted::Duplicate);
    let waits = pending(&*store).await;
    // The key's position in the queue is now the creation time of its newest state.
    let places: Vec<_> = waits.iter().map(|task| task.created).collect();
    assert_eq!(places, [Millis(NOW.0 + 9)]);
    let done = taken(&*store, 9).await;
    assert_eq!(settle(&*store, &done.lease).await, Written::Done);
    assert_eq!(put(&*store, &state(9)).await, Inserted::Duplicate);
    assert_eq!(put(&*store, &state(8)).await, Inserted::Outdated);
    let again = put(&*store, &state(10)).await;
    assert_eq!(again, Inserted::Replaced(Replaced::Settled));
    taken(&*store, 10).await;
}

async fn newest_of_many_concurrent_states_wins(store: Arc<dyn QueueStore>) {
    let states: Vec<_> = (1..=24).map(state).collect();
    let puts = join_all(states.iter().map(|state| put(&*store, state))).await;
    assert_eq!(
        puts.iter().filter(|put| **put == Inserted::Created).count(),
        1
    );
    taken(&*store, 24).await;
}

async fn returned_state_is_superseded_by_a_newer_one(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = taken(&*store, 1).await;
    put(&*store, &state(2)).await;
    let returned = delayed(Counts::Start, true);
    let given = store.return_task(&first.lease, &returned, NOW);
    assert_eq!(given.await.unwrap(), Written::Overtaken);
    let waits = &pending(&*store).await[0];
    // The newer state keeps the delay, which protects the downstream, and the expired-lease mark.
    assert_eq!(waits.not_before, Some(NOW.plus(Duration::from_millis(500))));
    assert_eq!((waits.attempts, waits.lease_expired), (0, true));
}

async fn a_failed_state_is_replaced(store: Arc<dyn QueueStore>) {
    put(&*store, &state(1)).await;
    let first = taken(&*store, 1).await;
    assert_eq!(fail(&*store, &first.lease).await, Written::Done);
    let replaced = put(&*store, &state(2)).await;
    assert_eq!(replaced, Inserted::Replaced(Replaced::Settled));
    taken(&*store, 2).await;
}

async fn a_state_that_expired_is_shed_and_not_superseded(store: Arc<dyn QueueStore>) {
    let mut first = state(1);
    first.expires_at = NOW.floor_seconds();
    put(&*store, &first).await;
    assert!(pending(&*store).await.is_empty());
    let older = put(&*store, &state(0)).await;
    assert_eq!(
        older,
        Inserted::Outdated,
        "until DynamoDB deletes the expired state"
    );
    let replaced = put(&*store, &state(2)).await;
    assert_eq!(replaced, Inserted::Replaced(Replaced::Expired));
    assert_eq!(pending(&*store).await.len(), 1);
}

async fn key_and_task_without_a_key_cannot_share_an_id(store: Arc<dyn QueueStore>) {
    insert(&*store, &["plain"]).await;
    let key = NewTask {
        id: new_task("plain", 0).id,
        ..state(1)
    };
    let rejected = put(&*store, &key).await;
    assert_eq!(rejected, Inserted::Conflict(Conflict::NotAKey));
    put(&*store, &state(1)).await;
    let rejected = put(&*store, &new_task("k", 2)).await;
    assert_eq!(rejected, Inserted::Conflict(Conflict::IsAKey));
    let mut by_time = state(2);
    by_time.keyed.as_mut().unwrap().version = Version::by_time(NOW, "m");
    let rejected = put(&*store, &by_time).await;
    assert_eq!(rejected, Inserted::Conflict(Conflict::OtherOrder));
}

async fn a_key_may_keep_its_place(store: Arc<dyn QueueStore>) {
    let staying = |sequence| conformance::state("k", sequence, Place::Stays);
    put(&*store, &staying(1)).await;
    store.insert(&new_task("between", 2)).await.unwrap();
    put(&*store, &staying(3)).await;
    let oldest_first = PageQuery {
        order: Order::OldestFirst,
        ..first_page(10)
    };
    let page = store.pending_page(&oldest_first).await.unwrap();
    let ids: Vec<_> = page
        .candidates
        .iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(ids, ["k", "between"]);
    assert_eq!(page.candidates[0].created, Millis(NOW.0 + 1));
    let first = taken(&*store, 3).await;
    assert_eq!(
        first.task.task_created,
        Millis(NOW.0 + 3),
        "the state's own moment"
    );
    // The key's position is now the creation time of the first state written during the run.
    put(&*store, &staying(5)).await;
    put(&*store, &staying(6)).await;
    assert_eq!(settle(&*store, &first.lease).await, Written::Overtaken);
    let page = store.pending_page(&oldest_first).await.unwrap();
    assert_eq!(page.candidates[1].created, Millis(NOW.0 + 5));
    assert_eq!(taken(&*store, 6).await.task.task_created, Millis(NOW.0 + 6));
}

async fn a_state_has_its_own_trace(store: Arc<dyn QueueStore>) {
    let traced = |sequence, header| NewTask {
        trace: header,
        ..state(sequence)
    };
    put(&*store, &traced(1, Some(trace('a')))).await;
    put(&*store, &traced(2, None)).await;
    let second = taken(&*store, 2).await;
    assert_eq!(second.trace, None);
    put(&*store, &traced(3, Some(trace('c')))).await;
    assert_eq!(settle(&*store, &second.lease).await, Written::Overtaken);
    assert_eq!(taken(&*store, 3).await.trace, Some(trace('c')));
}

async fn a_state_starts_after_its_own_delay(store: Arc<dyn QueueStore>) {
    let after = |seconds| Some(NOW.plus(Duration::from_secs(seconds)));
    let delayed_by = |sequence, seconds| NewTask {
        not_before: after(seconds),
        ..state(sequence)
    };
    put(&*store, &delayed_by(1, 10)).await;
    assert_eq!(pending(&*store).await[0].not_before, after(10));
    put(&*store, &state(2)).await;
    assert_eq!(pending(&*store).await[0].not_before, after(10));
    put(&*store, &delayed_by(3, 5)).await;
    assert_eq!(pending(&*store).await[0].not_before, after(5));

    let mut request = wish(candidate("k"));
    request.now = NOW.plus(Duration::from_secs(6));
    let third = take_by(&*store, &request).await;
    put(&*store, &delayed_by(4, 20)).await;
    let returned = delayed(Counts::Start, false);
    let given = store.return_task(&third.lease, &returned, NOW);
    assert_eq!(given.await.unwrap(), Written::Overtaken);
    assert_eq!(pending(&*store).await[0].not_before, after(20));

    request.now = NOW.plus(Duration::from_secs(21));
    request.token = wish(candidate("k")).token;
    let fourth = take_by(&*store, &request).await;
    put(&*store, &delayed_by(5, 30)).await;
    assert_eq!(settle(&*store, &fourth.lease).await, Written::Overtaken);
    assert_eq!(pending(&*store).await[0].not_before, after(30));
}
