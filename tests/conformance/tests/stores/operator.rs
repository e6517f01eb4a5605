//! Operator commands: redrive, resume, limits, and purge.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use conformance::*;
use futures::future::join_all;
use lifo_queue::control::{
    Acquired, Author, BreakerByHand, BreakerHold, IdleTurns, OpenBreaker, OperatorLimit,
    OperatorLimits, OperatorRate, Renewed,
};
use lifo_queue::schema;
use lifo_queue::store::{Cancelled, Candidate, QueueStore, Redrive, Redriven, Seen, Written};
use lifo_queue::task::{NewTask, Place, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::json;

on_every_store! {
    index_bound_covers_the_oldest_redriven_task,
    resume_ends_a_pause,
    an_operator_holds_the_breaker_open_and_closes_it,
    an_operator_limits_starts_and_ends_the_limit,
    a_purge_deletes_all_but_taken_tasks,
    commands_on_a_seen_state_keep_a_newer_one,
    store_returns_the_attributes_of_a_task_as_in_the_table,
}

const HOUR: Duration = Duration::from_secs(3_600);

fn later() -> EpochSeconds {
    NOW.floor_seconds().plus(2 * HOUR)
}

fn redrive(id: &str) -> Redrive {
    Redrive {
        task: TaskId::from_stored(id),
        state: Seen::Any,
        expires_at: later(),
    }
}

async fn run_and_fail(store: &dyn QueueStore, id: &str) {
    let lease = take(store, id).await.lease;
    assert_eq!(fail(store, &lease).await, Written::Done);
}

async fn index_bound_covers_the_oldest_redriven_task(store: Arc<dyn QueueStore>) {
    let ids = numbered(8);
    insert(&*store, &ids).await;
    for id in &ids {
        run_and_fail(&*store, id).await;
    }
    let redrives = ids[2..].iter().map(|id| {
        let (store, redrive) = (store.clone(), redrive(id));
        async move { store.redrive(&redrive, NOW).await.unwrap() }
    });
    let all = join_all(redrives).await;
    assert!(all.iter().all(|redriven| *redriven == Redriven::Done));
    let control = store.control().await.unwrap();
    let redriven = control.redriven.unwrap();
    assert_eq!(
        (redriven.oldest, redriven.until),
        (Millis(NOW.0 + 2), later())
    );
    // Until the redriven tasks expire, the bound is the age of the oldest one. Afterwards, the age
    // bound applies again.
    let minute = Duration::from_secs(60);
    let soon = NOW.plus(HOUR);
    assert_eq!(control.created_bound(minute, soon), redriven.oldest);
    let after = later().millis();
    assert_eq!(control.created_bound(minute, after), after.minus(minute));
    // Expired tasks no longer count.
    let redrive = Redrive {
        task: TaskId::from_stored("t0007"),
        state: Seen::Any,
        expires_at: later().plus(HOUR),
    };
    let t7 = Candidate {
        ttl: Ttl::Seconds(later()),
        ..inserted("t0007", 7)
    };
    fail_again(&*store, &t7, after).await;
    assert_eq!(
        store.redrive(&redrive, after).await.unwrap(),
        Redriven::Done
    );
    let redriven = store.control().await.unwrap().redriven.unwrap();
    let expected = (Millis(NOW.0 + 7), redrive.expires_at);
    assert_eq!((redriven.oldest, redriven.until), expected);
}

async fn fail_again(store: &dyn QueueStore, seen: &Candidate, now: Millis) {
    let put_away = store.quarantine(seen, "bad", later(), now).await;
    assert_eq!(put_away.unwrap(), Written::Done);
}

async fn resume_ends_a_pause(store: Arc<dyn QueueStore>) {
    store.resume().await.unwrap();
    store.pause(&pause(Millis::MAX)).await.unwrap();
    store.resume().await.unwrap();
    let control = store.control().await.unwrap();
    let left = (control.paused_until, control.pause_reason);
    assert_eq!(left, (None, None));
    let acquired = store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    assert!(matches!(acquired, Acquired::Ours(_)));
}

async fn an_operator_holds_the_breaker_open_and_closes_it(store: Arc<dyn QueueStore>) {
    let by_hand = async || store.control().await.unwrap().breaker_by_hand;
    let hold = |seconds, reason: &str| BreakerHold {
        until: NOW.plus(Duration::from_secs(seconds)),
        reason: reason.to_owned(),
    };
    assert_eq!(by_hand().await, BreakerByHand::default());
    for (commands, hold) in [(1, hold(60, "release")), (2, hold(30, "shorter"))] {
        store.hold_breaker(&hold).await.unwrap();
        let hold = Some(hold);
        assert_eq!(by_hand().await, BreakerByHand { commands, hold });
    }
    // A processor's writes leave the hold unchanged, and a hold leaves the processor's state
    // unchanged.
    let first = claim("m1", NOW);
    store.acquire(&first, NOW).await.unwrap();
    let open = Some(OpenBreaker {
        since: NOW,
        probes: 3,
    });
    let mut left = release(first.owner, None, IdleTurns::Add);
    left.carried.breaker = open;
    store.release(&left).await.unwrap();
    store.hold_breaker(&hold(90, "longer")).await.unwrap();
    let control = store.control().await.unwrap();
    assert_eq!(control.breaker, open);
    assert_eq!(control.breaker_by_hand.hold, Some(hold(90, "longer")));
    let second = claim("m2", NOW);
    let acquired = store.acquire(&second, NOW).await.unwrap();
    assert_eq!(acquired, Acquired::Ours(control));

    store.close_breaker().await.unwrap();
    let control = store.control().await.unwrap();
    let closed = BreakerByHand {
        commands: 4,
        hold: None,
    };
    assert_eq!((control.breaker, &control.breaker_by_hand), (None, &closed));
    assert_eq!(
        control.live_lease(NOW).map(|lease| lease.owner),
        Some(second.owner)
    );
    // The lease holder learns of the close with its next renewal.
    let mut renewal = renewal(second.owner, NOW.plus(Duration::from_secs(5)));
    renewal.carried.breaker = open;
    let renewed = store.renew(&renewal).await.unwrap();
    assert!(matches!(renewed, Renewed::Ours(control) if control.breaker_by_hand == closed));
}

async fn an_operator_limits_starts_and_ends_the_limit(store: Arc<dyn QueueStore>) {
    let limit = |rate: Option<u32>, concurrency| OperatorLimits {
        queue: Some(OperatorLimit {
            concurrency: NonZeroU16::new(concurrency),
            rate: rate.map(|rate| OperatorRate {
                interval: Duration::from_secs(1) / rate,
            }),
            until: NOW.plus(Duration::from_secs(60)),
            reason: "migration".to_owned(),
            by: Author {
                name: "user/ana".to_owned(),
                at: NOW,
            },
        }),
    };
    let first = claim("m1", NOW);
    store.acquire(&first, NOW).await.unwrap();
    for limits in [limit(Some(7), 3), limit(Some(300), 0), limit(None, 1)] {
        store.limit(&limits).await.unwrap();
        // With its next renewal, the lease holder learns of the limit and stores the worst case.
        let mut renewal = renewal(first.owner, NOW.plus(Duration::from_secs(5)));
        let renewed = store.renew(&renewal).await.unwrap();
        let Renewed::Ours(control) = renewed else {
            panic!("the lease is lost")
        };
        assert_eq!(control.limits, limits);
        renewal.carried.rate_full_at = Some(NOW.plus(Duration::from_secs(70)));
        let renewed = store.renew(&renewal).await.unwrap();
        assert!(matches!(renewed, Renewed::Ours(control)
            if control.limits == limits && control.rate_full_at == renewal.carried.rate_full_at));
    }
    // A renewal that carries no worst case leaves the stored one unchanged.
    let kept = renewal(first.owner, NOW.plus(Duration::from_secs(5)));
    let renewed = store.renew(&kept).await.unwrap();
    assert!(matches!(renewed, Renewed::Ours(control) if control.rate_full_at > Some(NOW)));
    store
        .release(&release(first.owner, None, IdleTurns::Add))
        .await
        .unwrap();
    store.limit(&OperatorLimits::default()).await.unwrap();
    let control = store.control().await.unwrap();
    assert_eq!(control.limits, OperatorLimits::default());
    assert_eq!(control.limit(NOW), None);
}

async fn a_purge_deletes_all_but_taken_tasks(store: Arc<dyn QueueStore>) {
    let purge = async |id: &str| {
        let id = TaskId::from_stored(id);
        store.purge(&id, &Seen::Any).await.unwrap()
    };
    for id in ["pending", "taken", "success", "failure"] {
        store.insert(&new_task(id, 0)).await.unwrap();
    }
    run_and_fail(&*store, "failure").await;
    let lease = take(&*store, "success").await.lease;
    assert_eq!(settle(&*store, &lease).await, Written::Done);
    take(&*store, "taken").await;
    assert_eq!(purge("taken").await, Cancelled::Is(TaskStatus::Taken));
    for id in ["pending", "success", "failure"] {
        assert_eq!(purge(id).await, Cancelled::Done, "{id}");
        assert_eq!(purge(id).await, Cancelled::NotFound, "{id}");
    }
}

/// The state that the item contains.
async fn seen(store: &dyn QueueStore, id: &TaskId) -> Seen {
    let there = store.attributes(id).await.unwrap().unwrap();
    Seen::Put(there[schema::CREATE_TOKEN].as_str().unwrap().to_owned())
}

async fn commands_on_a_seen_state_keep_a_newer_one(store: Arc<dyn QueueStore>) {
    let id = TaskId::from_stored("k");
    for place in [Place::Moves, Place::Stays] {
        store.insert(&state("k", 1, place)).await.unwrap();
        let put = seen(&*store, &id).await;
        store.insert(&state("k", 2, place)).await.unwrap();
        let cancelled = store.cancel(&id, &put).await.unwrap();
        assert_eq!(cancelled, Cancelled::Replaced, "{place:?}");
        let purged = store.purge(&id, &put).await.unwrap();
        assert_eq!(purged, Cancelled::Replaced, "{place:?}");
        let newer = seen(&*store, &id).await;
        let cancelled = store.cancel(&id, &newer).await.unwrap();
        assert_eq!(cancelled, Cancelled::Done, "{place:?}");
    }
    // A state that moves also has another creation time, which is all that the index shows.
    store.insert(&state("k", 3, Place::Moves)).await.unwrap();
    let (earlier, created) = (Seen::Created(Millis(NOW.0 + 2)), Millis(NOW.0 + 3));
    let purged = store.purge(&id, &earlier).await.unwrap();
    assert_eq!(purged, Cancelled::Replaced);
    run_and_fail(&*store, "k").await;
    for (state, expected) in [
        (earlier, Redriven::Replaced),
        (Seen::Put("another".to_owned()), Redriven::Replaced),
        (Seen::Created(created), Redriven::Done),
        (Seen::Created(created), Redriven::Is(TaskStatus::Pending)),
    ] {
        let redrive = Redrive {
            state,
            ..redrive("k")
        };
        assert_eq!(store.redrive(&redrive, NOW).await.unwrap(), expected);
    }
    let purged = store.purge(&id, &Seen::Created(created)).await.unwrap();
    assert_eq!(purged, Cancelled::Done);
}

async fn store_returns_the_attributes_of_a_task_as_in_the_table(store: Arc<dyn QueueStore>) {
    let id = TaskId::from_stored("a");
    assert_eq!(store.attributes(&id).await.unwrap(), None);
    let task = NewTask {
        trace: Some(trace('a')),
        ..new_task("a", 0)
    };
    store.insert(&task).await.unwrap();
    run_and_fail(&*store, "a").await;
    let attributes = store.attributes(&id).await.unwrap().unwrap();
    let expected = [
        (schema::TASK_ID, json!("a")),
        (schema::TASK_STATUS, json!("FAILURE")),
        (schema::TASK_CREATED, json!(NOW.0)),
        (schema::ATTEMPTS, json!(1)),
        (schema::LAST_ERROR, json!("broken")),
        ("traceHeader", json!(trace('a').to_string())),
    ];
    for (name, value) in expected {
        assert_eq!(
            attributes.get(name),
            Some(&value),
            "{name} in {attributes:?}"
        );
    }
    assert!(attributes.contains_key(schema::TTL));
}
