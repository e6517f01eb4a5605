//! What every store promises, held to by each.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::control::{Acquired, IdleTurns, Release, Released};
use lifo_queue::store::{Inserted, PageQuery, QueueStore, StandingLease, TakeOutcome, Written};
use lifo_queue::task::{GiveBack, Reclaim, Settlement, TakenTask, TaskStatus, Ttl};
use lifo_queue::time::Millis;
use uuid::Uuid;

/// Runs each check on each store.
macro_rules! on_every_store {
    ($($check:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $check() { super::$check(conformance::memory()).await; })*
        }
        mod dynamodb {
            $(#[tokio::test] async fn $check() { super::$check(conformance::dynamodb().await).await; })*
        }
    };
}

on_every_store!(
    creating_is_idempotent,
    a_lost_acknowledgement_of_our_own_put_is_created,
    pages_are_newest_first_and_go_on_where_they_ended,
    a_take_is_exclusive,
    a_taken_task_is_whole,
    a_lost_acknowledgement_of_a_take_is_recognised,
    a_task_that_is_not_due_or_expired_is_not_taken,
    settling_needs_the_token,
    a_lost_acknowledgement_of_a_settlement_is_recognised,
    a_task_given_back_keeps_its_place_and_waits,
    a_busy_return_gives_the_attempt_back,
    a_late_worker_cannot_touch_what_another_holds,
    a_lease_is_reclaimed_once_it_ran_out_and_only_that_lease,
    quarantine_is_for_pending_tasks,
    requests_are_counted,
    the_processor_lease_is_exclusive,
    a_release_notices_requests,
    idle_turns_are_counted,
    a_mark_holds_other_events_back,
    a_pause_keeps_processors_out_and_is_never_shortened,
);

async fn creating_is_idempotent(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    assert_eq!(
        store.insert(&new_task("a", 9)).await.unwrap(),
        Inserted::Duplicate
    );
    let page = store.pending_page(&first_page(10)).await.unwrap();
    assert_eq!(page.candidates.len(), 1);
    assert_eq!(page.candidates[0].created, NOW);
}

async fn a_lost_acknowledgement_of_our_own_put_is_created(store: Arc<dyn QueueStore>) {
    let task = new_task("a", 0);
    assert_eq!(store.insert(&task).await.unwrap(), Inserted::Created);
    assert_eq!(store.insert(&task).await.unwrap(), Inserted::Created);
}

async fn pages_are_newest_first_and_go_on_where_they_ended(store: Arc<dyn QueueStore>) {
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

async fn a_taken_task_is_whole(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let taken = take(&*store, "a").await;
    let created = new_task("a", 0);
    assert_eq!(taken.task.task_id, created.id);
    assert_eq!(taken.task.task_created, created.created);
    assert_eq!(taken.task.expires_at, created.expires_at);
    assert_eq!(Some(taken.task.payload), created.payload);
    assert_eq!((taken.task.attempt, taken.task.total_attempts), (1, 1));
    let page = store.pending_page(&first_page(10)).await.unwrap();
    assert!(page.candidates.is_empty());
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

async fn a_task_that_is_not_due_or_expired_is_not_taken(store: Arc<dyn QueueStore>) {
    insert(&*store, &["backoff"]).await;
    let lease = take(&*store, "backoff").await.lease;
    let not_before = NOW.plus(Duration::from_secs(5));
    let back = GiveBack {
        not_before,
        attempt_counts: true,
        reason: "later".into(),
    };
    assert_eq!(
        store.give_back(&lease, &back, NOW).await.unwrap(),
        Written::Done
    );
    assert_eq!(
        store.take(&wish(candidate("backoff"))).await.unwrap(),
        TakeOutcome::Lost
    );

    let mut expired = new_task("expired", 0);
    expired.expires_at = NOW.floor_seconds();
    store.insert(&expired).await.unwrap();
    assert_eq!(
        store.take(&wish(candidate("expired"))).await.unwrap(),
        TakeOutcome::Lost
    );
    assert_eq!(
        store.take(&wish(candidate("absent"))).await.unwrap(),
        TakeOutcome::Lost
    );
}

async fn settling_needs_the_token(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let mut forged = lease.clone();
    forged.token = wish(candidate("a")).token;
    let settle = |lease| {
        let store = store.clone();
        async move {
            store
                .settle(&lease, &Settlement::Success, &RETENTION, NOW)
                .await
                .unwrap()
        }
    };
    assert_eq!(settle(forged).await, Written::Lost);
    assert_eq!(settle(lease).await, Written::Done);
    assert_eq!(
        store.take(&wish(candidate("a"))).await.unwrap(),
        TakeOutcome::Lost
    );
}

async fn a_lost_acknowledgement_of_a_settlement_is_recognised(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let failure = Settlement::Failure {
        reason: "broken".into(),
    };
    for _ in 0..2 {
        let settled = store
            .settle(&lease, &failure, &RETENTION, NOW)
            .await
            .unwrap();
        assert_eq!(settled, Written::Done);
    }
    let other = store
        .settle(&lease, &Settlement::Success, &RETENTION, NOW)
        .await
        .unwrap();
    assert_eq!(other, Written::Lost);
}

async fn a_task_given_back_keeps_its_place_and_waits(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b"]).await;
    let first = take(&*store, "b").await;
    let back = GiveBack {
        not_before: NOW,
        attempt_counts: true,
        reason: "again".into(),
    };
    for _ in 0..2 {
        let given = store.give_back(&first.lease, &back, NOW).await.unwrap();
        assert_eq!(given, Written::Done);
    }
    let page = store.pending_page(&first_page(10)).await.unwrap();
    assert_eq!(page.candidates[0].id.as_str(), "b");
    assert_eq!(page.candidates[0].created, Millis(NOW.0 + 1));
    assert_eq!(page.candidates[0].not_before, Some(NOW));
    let second = take(&*store, "b").await;
    assert_eq!((second.task.attempt, second.task.total_attempts), (2, 2));
    assert_eq!(second.task.expires_at, first.task.expires_at);
}

async fn a_busy_return_gives_the_attempt_back(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let lease = take(&*store, "a").await.lease;
    let back = GiveBack {
        not_before: NOW,
        attempt_counts: false,
        reason: "busy".into(),
    };
    // Repeated, as after a lost acknowledgement: the attempt is given back once.
    for _ in 0..2 {
        assert_eq!(
            store.give_back(&lease, &back, NOW).await.unwrap(),
            Written::Done
        );
    }
    let again = take(&*store, "a").await;
    assert_eq!((again.task.attempt, again.task.total_attempts), (1, 2));
}

async fn a_late_worker_cannot_touch_what_another_holds(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a"]).await;
    let late = take(&*store, "a").await.lease;
    let back = GiveBack {
        not_before: NOW,
        attempt_counts: true,
        reason: "cut off".into(),
    };
    store.give_back(&late, &back, NOW).await.unwrap();
    let holder = take(&*store, "a").await.lease;
    let settled = store
        .settle(&late, &Settlement::Success, &RETENTION, NOW)
        .await
        .unwrap();
    assert_eq!(settled, Written::Lost);
    assert_eq!(
        store.give_back(&late, &back, NOW).await.unwrap(),
        Written::Lost
    );
    let settled = store
        .settle(&holder, &Settlement::Success, &RETENTION, NOW)
        .await
        .unwrap();
    assert_eq!(settled, Written::Done);
}

async fn a_lease_is_reclaimed_once_it_ran_out_and_only_that_lease(store: Arc<dyn QueueStore>) {
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

    let fail = Reclaim::Fail {
        keep_until: NOW.floor_seconds(),
    };
    assert_eq!(
        store.reclaim(&b.lease, &fail, b.lease.until).await.unwrap(),
        Written::Done
    );
    for late in [a.lease, b.lease] {
        let settled = store
            .settle(&late, &Settlement::Success, &RETENTION, NOW)
            .await
            .unwrap();
        assert_eq!(settled, Written::Lost);
    }
    assert!(store.taken_page(&taken).await.unwrap().leases.is_empty());
}

async fn quarantine_is_for_pending_tasks(store: Arc<dyn QueueStore>) {
    insert(&*store, &["a", "b"]).await;
    let lease = take(&*store, "a").await.lease;
    let until = NOW.floor_seconds();
    let put_away = |id: &'static str| {
        let (store, id) = (store.clone(), candidate(id).id);
        async move { store.quarantine(&id, "bad item", until, NOW).await.unwrap() }
    };
    assert_eq!(put_away("a").await, Written::Lost);
    assert_eq!(put_away("b").await, Written::Done);
    assert_eq!(
        store.take(&wish(candidate("b"))).await.unwrap(),
        TakeOutcome::Lost
    );
    let settled = store
        .settle(&lease, &Settlement::Success, &RETENTION, NOW)
        .await
        .unwrap();
    assert_eq!(settled, Written::Done);
}

async fn requests_are_counted(store: Arc<dyn QueueStore>) {
    assert_eq!(store.control().await.unwrap().requested, 0);
    for count in 1..=3 {
        assert_eq!(store.request().await.unwrap().requested, count);
    }
    assert_eq!(store.control().await.unwrap().requested, 3);
    // The control item is no task.
    assert!(
        store
            .pending_page(&first_page(10))
            .await
            .unwrap()
            .candidates
            .is_empty()
    );
}

async fn the_processor_lease_is_exclusive(store: Arc<dyn QueueStore>) {
    store.request().await.unwrap();
    let first = claim("m1", NOW);
    let Acquired::Ours(control) = store.acquire(&first, NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.requested, 1);
    // A lost acknowledgement of our own claim.
    assert!(matches!(
        store.acquire(&first, NOW).await.unwrap(),
        Acquired::Ours(_)
    ));
    let Acquired::Held(lease) = store.acquire(&claim("m2", NOW), NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        (lease.owner, lease.message_id.as_str()),
        (first.owner, "m1")
    );
    // Renewed, it is live for longer; run out, it is another's.
    let later = NOW.plus(Duration::from_secs(10));
    let until = later.plus(Duration::from_secs(1));
    assert_eq!(
        store.renew(first.owner, until).await.unwrap(),
        Written::Done
    );
    let second = claim("m2", until);
    assert!(matches!(
        store.acquire(&second, later).await.unwrap(),
        Acquired::Held(_)
    ));
    assert!(matches!(
        store.acquire(&second, until).await.unwrap(),
        Acquired::Ours(_)
    ));
    assert_eq!(
        store.renew(first.owner, until).await.unwrap(),
        Written::Lost
    );
    let release = Release {
        owner: first.owner,
        if_requested_is: None,
        idle_turns: IdleTurns::Reset,
    };
    assert_eq!(store.release(&release).await.unwrap(), Released::NotOurs);
    assert_eq!(
        store.control().await.unwrap().lease.unwrap().owner,
        second.owner
    );
}

async fn a_release_notices_requests(store: Arc<dyn QueueStore>) {
    let claim = claim("m1", NOW);
    let Acquired::Ours(control) = store.acquire(&claim, NOW).await.unwrap() else {
        panic!()
    };
    let release = |seen| Release {
        owner: claim.owner,
        if_requested_is: Some(seen),
        idle_turns: IdleTurns::Reset,
    };
    store.request().await.unwrap();
    let refused = store.release(&release(control.requested)).await.unwrap();
    assert_eq!(refused, Released::Requested { requested: 1 });
    assert!(store.control().await.unwrap().live_lease(NOW).is_some());
    let released = store.release(&release(1)).await.unwrap();
    assert_eq!(released, Released::Done { idle_turns: 0 });
    assert_eq!(store.control().await.unwrap().lease, None);
    assert_eq!(store.release(&release(1)).await.unwrap(), Released::NotOurs);
}

async fn idle_turns_are_counted(store: Arc<dyn QueueStore>) {
    for (idle_turns, expected) in [
        (IdleTurns::Add, 1),
        (IdleTurns::Add, 2),
        (IdleTurns::Reset, 0),
        (IdleTurns::Add, 1),
    ] {
        let claim = claim("m1", NOW);
        store.acquire(&claim, NOW).await.unwrap();
        let release = Release {
            owner: claim.owner,
            if_requested_is: None,
            idle_turns,
        };
        let released = store.release(&release).await.unwrap();
        assert_eq!(
            released,
            Released::Done {
                idle_turns: expected
            }
        );
        assert_eq!(store.control().await.unwrap().idle_turns, expected);
    }
}

async fn a_mark_holds_other_events_back(store: Arc<dyn QueueStore>) {
    let until = NOW.plus(Duration::from_secs(5));
    let mark = |event: &'static str, now| {
        let store = store.clone();
        async move { store.mark_notified(event, until, now).await.unwrap() }
    };
    assert_eq!(mark("e1", NOW).await, Written::Done);
    // Its owner may publish again, since its first publish may have failed.
    assert_eq!(mark("e1", NOW).await, Written::Done);
    assert_eq!(mark("e2", NOW).await, Written::Lost);
    assert_eq!(mark("e2", until).await, Written::Done);
    let claim = claim("m1", NOW);
    store.acquire(&claim, NOW).await.unwrap();
    assert_eq!(store.control().await.unwrap().notified_until, None);
    assert_eq!(mark("e3", NOW).await, Written::Lost);
    let idle_turns = IdleTurns::Reset;
    let release = Release {
        owner: claim.owner,
        if_requested_is: None,
        idle_turns,
    };
    store.release(&release).await.unwrap();
    assert_eq!(mark("e3", NOW).await, Written::Done);
}

async fn a_pause_keeps_processors_out_and_is_never_shortened(store: Arc<dyn QueueStore>) {
    let until = NOW.plus(Duration::from_secs(60));
    assert_eq!(
        store.pause(until, "maintenance").await.unwrap(),
        Written::Done
    );
    let shorter = NOW.plus(Duration::from_secs(30));
    assert_eq!(store.pause(shorter, "hurry").await.unwrap(), Written::Lost);
    let control = store.control().await.unwrap();
    assert_eq!(control.pause_reason.as_deref(), Some("maintenance"));
    let answer = store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    assert_eq!(answer, Acquired::Paused(until));
    assert!(matches!(
        store.acquire(&claim("m1", until), until).await.unwrap(),
        Acquired::Ours(_)
    ));
    assert_eq!(
        store.renew(Uuid::new_v4(), until).await.unwrap(),
        Written::Lost
    );
}
