//! Expired leases.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::store::{PageQuery, QueueStore, StandingLease, TakeOutcome, Written};
use lifo_queue::task::{Lease, Reclaim, Return, Settlement, TakenTask, TaskStatus, Ttl};

on_every_store! {
    expired_lease_is_reclaimed_once_and_only_with_its_token,
    expired_lease_fails_a_task_only_if_it_ran_alone,
    return_records_whether_a_lease_expired,
    a_repeated_take_has_the_lease_of_the_first,
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
    let early = a.lease.until.minus(Duration::from_millis(1));
    assert_eq!(
        store.reclaim(&a.lease, &back, early).await.unwrap(),
        Written::Lost
    );
    let mut forged = a.lease.clone();
    forged.token = wish(candidate("a")).token;
    assert_eq!(
        store.reclaim(&forged, &back, a.lease.until).await.unwrap(),
        Written::Lost
    );
    assert_eq!(
        store.reclaim(&a.lease, &back, a.lease.until).await.unwrap(),
        Written::Done
    );
    assert_eq!(
        store.reclaim(&a.lease, &back, a.lease.until).await.unwrap(),
        Written::Lost
    );
    let page = store.pending_page(&first_page(10)).await.unwrap();
    let returned = page
        .candidates
        .iter()
        .find(|task| task.id == a.task.task_id)
        .unwrap();
    assert_eq!(returned.not_before, Some(a.lease.until));
    assert_eq!(returned.ttl, Ttl::Seconds(a.task.expires_at));

    assert!(returned.lease_expired && returned.attempts == 1);
    let settled = store.settle(&a.lease, &Settlement::Success, &RETENTION, NOW);
    assert_eq!(settled.await.unwrap(), Written::Lost);
}

async fn expired_lease_fails_a_task_only_if_it_ran_alone(store: Arc<dyn QueueStore>) {
    insert(&*store, &["alone", "in-company"]).await;
    let fail = Reclaim::Fail {
        keep_until: NOW.floor_seconds(),
    };
    let beside = take(&*store, "in-company").await.lease;
    let reclaimed = store.reclaim(&beside, &fail, beside.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Lost);

    let mut request = wish(candidate("alone"));
    request.alone = true;
    let TakeOutcome::Won(taken) = store.take(&request).await.unwrap() else {
        panic!()
    };
    let lease = taken.lease;
    let reclaimed = store.reclaim(&lease, &fail, lease.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Done);
    let settled = store.settle(&lease, &Settlement::Success, &RETENTION, NOW);
    assert_eq!(settled.await.unwrap(), Written::Lost);

    // A later take beside other tasks deletes the mark that the task ran alone.
    let back = Return {
        not_before: NOW,
        attempt_counts: true,
        lease_expired: false,
        reason: "again".into(),
    };
    store.return_task(&beside, &back, NOW).await.unwrap();
    request = wish(candidate("in-company"));
    request.alone = true;
    store.take(&request).await.unwrap();
    let alone = Lease {
        token: request.token,
        ..beside
    };
    store.return_task(&alone, &back, NOW).await.unwrap();
    let again = take(&*store, "in-company").await.lease;
    let reclaimed = store.reclaim(&again, &fail, again.until);
    assert_eq!(reclaimed.await.unwrap(), Written::Lost);
}

async fn return_records_whether_a_lease_expired(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let back = swept_back();
    store.reclaim(&lease, &back, lease.until).await.unwrap();
    let suspect = async || {
        let page = store.pending_page(&first_page(10)).await.unwrap();
        page.candidates[0].lease_expired
    };
    assert!(suspect().await);
    for (attempt_counts, lease_expired) in [(false, true), (true, true), (true, false)] {
        let lease = take(&*store, "a").await.lease;
        let back = Return {
            not_before: NOW,
            attempt_counts,
            lease_expired,
            reason: "again".into(),
        };
        // Repeated, as after a lost acknowledgement.
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
    let TakeOutcome::Won(taken) = store.take(&repeated).await.unwrap() else {
        panic!("our own take")
    };
    assert_eq!(taken.lease.until, first.lease_until);
}
