//! Expired leases.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::store::{PageQuery, QueueStore, StandingLease, TakeOutcome, Written};
use lifo_queue::task::{Counts, Reclaim, TakenTask, TaskStatus, Ttl};

on_every_store! {
    expired_lease_is_reclaimed_once_and_only_with_its_token,
    expired_lease_fails_a_task_only_if_it_ran_alone,
    return_records_whether_a_lease_expired,
    a_repeated_take_has_the_lease_of_the_first,
    a_take_that_arrives_after_its_lease_ended_is_lost,
}

async fn expired_lease_is_reclaimed_once_and_only_with_its_token(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b", "c"]).await;
    let (a, b) = (take(&*store, "a").await, take(&*store, "b").await);
    let taken = PageQuery {
        status: TaskStatus::Taken.into(),
        ..first_page(1)
    };
    let first = store.taken_page(&taken).await.unwrap();
    let rest = store
        .taken_page(&PageQuery {
            after: first.next,
            ..taken.clone()
        })
        .await
        .unwrap();
    let leases: Vec<_> = first.leases.into_iter().chain(rest.leases).collect();
    let standing = |taken: &TakenTask| StandingLease {
        lease: taken.lease.clone(),
        attempts: 1,
    };
    assert_eq!(leases, [standing(&b), standing(&a)]);

    let back = Reclaim::Return {
        not_before: a.lease.until,
        max_crashes: 2,
    };
    let reclaim = async |lease, now| store.reclaim(lease, &back, now).await.unwrap();
    let early = a.lease.until.minus(Duration::from_millis(1));
    assert_eq!(reclaim(&a.lease, early).await, Written::Lost);
    let mut forged = a.lease.clone();
    forged.token = wish(candidate("a")).token;
    assert_eq!(reclaim(&forged, a.lease.until).await, Written::Lost);
    for expected in [Written::Done, Written::Lost] {
        assert_eq!(reclaim(&a.lease, a.lease.until).await, expected);
    }
    let pending = pending(&*store).await;
    let returned = pending.iter().find(|task| task.id == a.task.task_id);
    let returned = returned.unwrap();
    assert_eq!(returned.not_before, Some(a.lease.until));
    assert_eq!(returned.ttl, Ttl::Seconds(a.task.expires_at));

    assert!(returned.lease_expired && returned.attempts == 1);
    assert_eq!(settle(&*store, &a.lease).await, Written::Lost);
}

async fn expired_lease_fails_a_task_only_if_it_ran_alone(store: Arc<dyn QueueStore>) {
    insert(&*store, &["alone", "in-company"]).await;
    let fail = Reclaim::Fail {
        keep_until: NOW.floor_seconds(),
    };
    let beside = take(&*store, "in-company").await.lease;
    let reclaimed = store.reclaim(&beside, &fail, beside.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Lost);

    let lease = take_alone(&*store, "alone").await.lease;
    let reclaimed = store.reclaim(&lease, &fail, lease.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Done);
    assert_eq!(settle(&*store, &lease).await, Written::Lost);

    // A later take that runs alongside other tasks deletes the mark that the task ran alone.
    let back = back(Counts::Attempt, false);
    store.return_task(&beside, &back, NOW).await.unwrap();
    let alone = take_alone(&*store, "in-company").await.lease;
    store.return_task(&alone, &back, NOW).await.unwrap();
    let again = take(&*store, "in-company").await.lease;
    let reclaimed = store.reclaim(&again, &fail, again.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Lost);
}

async fn return_records_whether_a_lease_expired(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let swept = swept_back();
    store.reclaim(&lease, &swept, lease.until).await.unwrap();
    let suspect = async || pending(&*store).await[0].lease_expired;
    assert!(suspect().await);
    for (counts, lease_expired) in [
        (Counts::Start, true),
        (Counts::Attempt, true),
        (Counts::Attempt, false),
    ] {
        let lease = take(&*store, "a").await.lease;
        let back = back(counts, lease_expired);
        // The second iteration repeats the request, as after a lost acknowledgement.
        for _ in 0..2 {
            let given = store.return_task(&lease, &back, NOW).await.unwrap();
            assert_eq!(given, Written::Done);
        }
        assert_eq!(suspect().await, lease_expired);
    }
}

async fn a_repeated_take_has_the_lease_of_the_first(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let first = wish(candidate("a"));
    let mut repeated = first.clone();
    repeated.now = NOW.plus(Duration::from_secs(9));
    repeated.lease_until = first.lease_until.plus(Duration::from_secs(9));
    store.take(&first).await.unwrap();
    let taken = take_by(&*store, &repeated).await;
    assert_eq!(taken.lease.until, first.lease_until);
}

async fn a_take_that_arrives_after_its_lease_ended_is_lost(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    for lease_expired in [false, true] {
        let request = wish(candidate("a"));
        let lease = take_by(&*store, &request).await.lease;
        let back = back(Counts::Attempt, lease_expired);
        store.return_task(&lease, &back, NOW).await.unwrap();
        assert_eq!(store.take(&request).await.unwrap(), TakeOutcome::Lost);
    }
}
