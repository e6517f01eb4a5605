//! The control item: the processor lease, markers, and pauses.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::control::{
    Acquired, Carried, Cause, Control, Health, IdleTurns, OpenBreaker, Pause, Released, Renewed,
};
use lifo_queue::store::{QueueStore, Written};
use uuid::Uuid;

on_every_store! {
    the_processor_lease_is_exclusive,
    lease_is_not_released_after_another_wake_up_request,
    marker_blocks_other_events,
    pause_blocks_new_leases_and_is_never_shortened,
    renewals_and_releases_keep_an_open_breaker_and_an_overload,
}

async fn the_processor_lease_is_exclusive(store: Arc<dyn QueueStore>) {
    store.request().await.unwrap();
    let first = claim("m1", NOW);
    let Acquired::Ours(control) = store.acquire(&first, NOW).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.requested, 1);
    // The acknowledgement of the owner's claim was lost, so the owner retries the claim.
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
    // A renewal extends the lease. After the lease expires, another processor acquires it.
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

async fn lease_is_not_released_after_another_wake_up_request(store: Arc<dyn QueueStore>) {
    store.request().await.unwrap();
    let claim = claim("m1", NOW);
    store.acquire(&claim, NOW).await.unwrap();
    store.request().await.unwrap();
    let outdated = release(claim.owner, Some(1), IdleTurns::Reset);
    let Released::Requested(control) = store.release(&outdated).await.unwrap() else {
        panic!()
    };
    assert_eq!(control.requested, 2);
    assert_eq!(control.lease.unwrap().owner, claim.owner);
    let current = release(claim.owner, Some(2), IdleTurns::Reset);
    let released = store.release(&current).await.unwrap();
    assert_eq!(released, Released::Done { idle_turns: 0 });
    assert!(store.control().await.unwrap().lease.is_none());
}

async fn marker_blocks_other_events(store: Arc<dyn QueueStore>) {
    let until = NOW.plus(Duration::from_secs(5));
    let mark = |event: &'static str, now| {
        let store = store.clone();
        async move { store.mark_notified(event, until, now).await.unwrap() }
    };
    assert_eq!(mark("e1", NOW).await, Written::Done);
    // The same event can publish again, because its first publish may have failed.
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

async fn renewals_and_releases_keep_an_open_breaker_and_an_overload(store: Arc<dyn QueueStore>) {
    let open = Some(OpenBreaker {
        since: NOW,
        probes: 3,
    });
    let health = Health {
        without_result: 8,
        cause: Some(Cause::Busy),
        asked_until: Some(NOW),
        next_probe: Some(NOW),
        limit: Some(3),
        failed_limit: Some(4),
    };
    for (breaker, overloaded_since) in [(open, None), (None, Some(NOW)), (open, Some(NOW))] {
        let holds = |control: &Control| {
            control.breaker == breaker
                && control.overloaded_since == overloaded_since
                && control.health == health
        };
        let nothing = |control: &Control| control.carried() == Carried::default();
        let first = claim("m1", NOW);
        store.acquire(&first, NOW).await.unwrap();
        let mut kept = renewal(first.owner, NOW.plus(Duration::from_secs(5)));
        (kept.carried.breaker, kept.carried.overloaded_since) = (breaker, overloaded_since);
        kept.carried.health = health;
        let renewed = store.renew(&kept).await.unwrap();
        assert!(matches!(renewed, Renewed::Ours(control) if holds(&control)));
        // Neither a pause nor a release with the same values changes the breaker or the overload.
        let pause = pause(NOW.plus(Duration::from_secs(1)));
        store.pause(&pause).await.unwrap();
        let mut left = release(first.owner, None, IdleTurns::Add);
        left.carried = kept.carried;
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
