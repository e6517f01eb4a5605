//! The control item: requests, the processor lease, markers and pauses.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::control::{
    Acquired, Claim, Control, IdleTurns, OpenBreaker, Pause, Released, Renewed,
};
use lifo_queue::store::{QueueStore, Written};
use uuid::Uuid;

on_every_store! {
    requests_are_counted,
    the_processor_lease_is_exclusive,
    release_is_rejected_after_a_new_request,
    idle_turns_are_counted,
    marker_blocks_other_events,
    pause_blocks_new_leases_and_is_never_shortened,
    pauses_for_a_busy_downstream_are_counted_until_a_turn_recovers,
    renewals_and_releases_keep_an_open_breaker_and_an_overload,
    claim_stores_the_worst_rate_limit_state_until_the_release,
}

async fn requests_are_counted(store: Arc<dyn QueueStore>) {
    assert_eq!(store.control().await.unwrap().requested, 0);
    for count in 1..=3 {
        assert_eq!(store.request().await.unwrap().requested, count);
    }
    assert_eq!(store.control().await.unwrap().requested, 3);
    // The control item is not a task.
    assert!(pending(&*store).await.is_empty());
}

async fn the_processor_lease_is_exclusive(store: Arc<dyn QueueStore>) {
    store.request().await.unwrap();
    let first = claim("m1", NOW);
    let Acquired::Ours(control) = store.acquire(&first, NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.requested, 1);
    // The acknowledgement of our own claim was lost, and the claim is repeated.
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
    // A renewal makes the lease live for longer. After its expiry another processor acquires it.
    let later = NOW.plus(Duration::from_secs(10));
    let until = later.plus(Duration::from_secs(1));
    let renewed = store.renew(&renewal(first.owner, until)).await.unwrap();
    assert!(matches!(renewed, Renewed::Ours(control) if control.requested == 1));
    let second = claim("m2", until);
    assert!(matches!(
        store.acquire(&second, later).await.unwrap(),
        Acquired::Held(_)
    ));
    assert!(matches!(
        store.acquire(&second, until).await.unwrap(),
        Acquired::Ours(_)
    ));
    let renewed = store.renew(&renewal(first.owner, until)).await.unwrap();
    assert_eq!(renewed, Renewed::Lost);
    let release = release(first.owner, None, IdleTurns::Reset);
    assert_eq!(store.release(&release).await.unwrap(), Released::NotOurs);
    assert_eq!(
        store.control().await.unwrap().lease.unwrap().owner,
        second.owner
    );
}

async fn release_is_rejected_after_a_new_request(store: Arc<dyn QueueStore>) {
    let claim = claim("m1", NOW);
    let Acquired::Ours(control) = store.acquire(&claim, NOW).await.unwrap() else {
        panic!()
    };
    let release = |seen| release(claim.owner, Some(seen), IdleTurns::Reset);
    store.request().await.unwrap();
    let rejected = store.release(&release(control.requested)).await.unwrap();
    assert!(matches!(rejected, Released::Requested(control) if control.requested == 1));
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
        let release = release(claim.owner, None, idle_turns);
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

async fn marker_blocks_other_events(store: Arc<dyn QueueStore>) {
    let until = NOW.plus(Duration::from_secs(5));
    let mark = |event: &'static str, now| {
        let store = store.clone();
        async move { store.mark_notified(event, until, now).await.unwrap() }
    };
    assert_eq!(mark("e1", NOW).await, Written::Done);
    // The same event may publish again, because its first publish may have failed.
    assert_eq!(mark("e1", NOW).await, Written::Done);
    assert_eq!(mark("e2", NOW).await, Written::Lost);
    assert_eq!(mark("e2", until).await, Written::Done);
    let claim = claim("m1", NOW);
    store.acquire(&claim, NOW).await.unwrap();
    assert_eq!(store.control().await.unwrap().notified_until, None);
    assert_eq!(mark("e3", NOW).await, Written::Lost);
    let release = release(claim.owner, None, IdleTurns::Reset);
    store.release(&release).await.unwrap();
    assert_eq!(mark("e3", NOW).await, Written::Done);
}

async fn pause_blocks_new_leases_and_is_never_shortened(store: Arc<dyn QueueStore>) {
    let until = NOW.plus(Duration::from_secs(60));
    assert_eq!(store.pause(&pause(until)).await.unwrap(), Written::Done);
    let shorter = Pause {
        reason: "hurry".to_owned(),
        ..pause(NOW.plus(Duration::from_secs(30)))
    };
    assert_eq!(store.pause(&shorter).await.unwrap(), Written::Lost);
    let control = store.control().await.unwrap();
    assert_eq!(control.pause_reason.as_deref(), Some("maintenance"));
    let acquired = store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    assert_eq!(acquired, Acquired::Paused(until));
    assert!(matches!(
        store.acquire(&claim("m1", until), until).await.unwrap(),
        Acquired::Ours(_)
    ));
    let renewed = store.renew(&renewal(Uuid::new_v4(), until)).await.unwrap();
    assert_eq!(renewed, Renewed::Lost);
}

async fn pauses_for_a_busy_downstream_are_counted_until_a_turn_recovers(
    store: Arc<dyn QueueStore>,
) {
    for count in 1..=2 {
        let pause = Pause {
            busy: true,
            ..pause(NOW.plus(Duration::from_secs(count)))
        };
        assert_eq!(store.pause(&pause).await.unwrap(), Written::Done);
    }
    let later = NOW.plus(Duration::from_secs(2));
    let claim = claim("m1", later);
    let Acquired::Ours(control) = store.acquire(&claim, later).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.busy_pauses, 2);
    let mut release = release(claim.owner, None, IdleTurns::Add);
    release.recovered = false;
    store.release(&release).await.unwrap();
    assert_eq!(store.control().await.unwrap().busy_pauses, 2);
    store.acquire(&claim, later).await.unwrap();
    release.recovered = true;
    store.release(&release).await.unwrap();
    assert_eq!(store.control().await.unwrap().busy_pauses, 0);
}

async fn claim_stores_the_worst_rate_limit_state_until_the_release(store: Arc<dyn QueueStore>) {
    let at = |seconds| Some(NOW.plus(Duration::from_secs(seconds)));
    let claim = |seconds| Claim {
        rate_full_at: at(seconds),
        ..claim("m1", NOW)
    };
    let first = claim(90);
    let Acquired::Ours(control) = store.acquire(&first, NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.rate_full_at, None, "what the turn before left");
    assert_eq!(store.control().await.unwrap().rate_full_at, at(90));
    let mut release = release(first.owner, None, IdleTurns::Reset);
    release.rate_full_at = at(7);
    store.release(&release).await.unwrap();
    let Acquired::Ours(control) = store.acquire(&claim(91), NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.rate_full_at, at(7));
}

async fn renewals_and_releases_keep_an_open_breaker_and_an_overload(store: Arc<dyn QueueStore>) {
    let open = Some(OpenBreaker {
        since: NOW,
        probes: 3,
    });
    for (breaker, overloaded_since) in [(open, None), (None, Some(NOW)), (open, Some(NOW))] {
        let holds = |control: &Control| {
            control.breaker == breaker && control.overloaded_since == overloaded_since
        };
        let nothing =
            |control: &Control| control.breaker.is_none() && control.overloaded_since.is_none();
        let first = claim("m1", NOW);
        store.acquire(&first, NOW).await.unwrap();
        let mut kept = renewal(first.owner, NOW.plus(Duration::from_secs(5)));
        (kept.breaker, kept.overloaded_since) = (breaker, overloaded_since);
        let renewed = store.renew(&kept).await.unwrap();
        assert!(matches!(renewed, Renewed::Ours(control) if holds(&control)));
        // A pause changes neither of them, and neither does a release that repeats them.
        let pause = pause(NOW.plus(Duration::from_secs(1)));
        store.pause(&pause).await.unwrap();
        let mut left = release(first.owner, None, IdleTurns::Add);
        (left.breaker, left.overloaded_since) = (breaker, overloaded_since);
        store.release(&left).await.unwrap();
        store.resume().await.unwrap();
        let second = claim("m2", NOW);
        let acquired = store.acquire(&second, NOW).await.unwrap();
        assert!(matches!(acquired, Acquired::Ours(control) if holds(&control)));
        let over = renewal(second.owner, NOW.plus(Duration::from_secs(5)));
        store.renew(&over).await.unwrap();
        assert!(nothing(&store.control().await.unwrap()));
        left.owner = second.owner;
        store.release(&left).await.unwrap();
        assert!(holds(&store.control().await.unwrap()));
        let third = claim("m3", NOW);
        store.acquire(&third, NOW).await.unwrap();
        let over = release(third.owner, None, IdleTurns::Reset);
        store.release(&over).await.unwrap();
        assert!(nothing(&store.control().await.unwrap()));
    }
}
