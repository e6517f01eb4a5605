//! The control item: requests, the processor lease, marks and pauses.

use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use lifo_queue::control::{Acquired, IdleTurns, Release, Released};
use lifo_queue::store::{QueueStore, Written};
use uuid::Uuid;

pub(crate) async fn requests_are_counted(store: Arc<dyn QueueStore>) {
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

pub(crate) async fn the_processor_lease_is_exclusive(store: Arc<dyn QueueStore>) {
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

pub(crate) async fn a_release_notices_requests(store: Arc<dyn QueueStore>) {
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

pub(crate) async fn idle_turns_are_counted(store: Arc<dyn QueueStore>) {
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

pub(crate) async fn a_mark_holds_other_events_back(store: Arc<dyn QueueStore>) {
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

pub(crate) async fn a_pause_keeps_processors_out_and_is_never_shortened(
    store: Arc<dyn QueueStore>,
) {
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
