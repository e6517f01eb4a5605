//! Sweeps of expired leases.

use std::time::Duration;

use conformance::{NOW, insert, new_task, numbered, take};
use lifo_queue::notify::WakeReason;
use lifo_queue::store::Written;
use lifo_queue::task::{Place, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use simulator::fault::Fault;

use super::world::{LEASE, SETTINGS, World};

conformance::on_both_stores! {
    sweep_returns_the_task_of_a_crashed_processor_after_lease_expiry,
    expired_lease_of_the_last_attempt_fails_the_task,
    key_that_kills_its_process_fails_although_newer_states_arrive,
    task_with_expired_leases_gets_one_extra_attempt_alone,
    failed_reclaim_does_not_end_the_sweep,
    throttled_sweep_stops_returning_tasks_but_wakes_and_measures,
}

async fn sweep_returns_the_task_of_a_crashed_processor_after_lease_expiry() {
    let world = World::start();
    insert(&*world.store, &["stranded"]).await;
    let late = take(&*world.store, "stranded").await.lease;
    tokio::time::sleep(LEASE + SETTINGS.clock_skew - Duration::from_millis(1)).await;
    let early = world.sweep().await;
    assert_eq!(
        (early.returned, early.woke, early.complete),
        (0, false, true)
    );

    tokio::time::sleep(Duration::from_millis(1)).await;
    let report = world.sweep().await;
    assert_eq!((report.returned, report.failed, report.woke), (1, 0, true));
    let record = world.store.record(&late.task).unwrap();
    assert_eq!((record.status, record.attempts), (TaskStatus::Pending, 1));
    assert_eq!((record.lease_token, record.lease_until), (None, None));
    assert_eq!(record.ttl, Ttl::Seconds(new_task("stranded", 0).expires_at));
    assert!(record.not_before.unwrap() <= world.clock.now().plus(SETTINGS.backoff.base));
    assert_eq!(world.topics.process_tasks()[0].reason, WakeReason::Sweep);
    // The late worker has lost its lease.
    let settled = conformance::settle(&*world.store, &late).await;
    assert_eq!(settled, Written::Lost);
    // A second sweep finds nothing to return.
    assert_eq!(world.sweep().await.returned, 0);
}

async fn expired_lease_of_the_last_attempt_fails_the_task() {
    let world = World::start();
    insert(&*world.store, &["killer"]).await;
    for attempt in 1..=SETTINGS.max_attempts {
        world.take("killer", true).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let report = world.sweep().await;
        let last = attempt == SETTINGS.max_attempts;
        assert_eq!(
            (report.returned, report.failed),
            (u32::from(!last), u32::from(last))
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let record = world.record("killer");
    assert_eq!(record.status, TaskStatus::Failure);
    assert!(record.last_error.unwrap().contains("last attempt"));
    let kept = world
        .clock
        .now()
        .floor_seconds()
        .plus(SETTINGS.failure_retention);
    assert!(matches!(record.ttl, Ttl::Seconds(at) if at <= kept && at > NOW.floor_seconds()));
}

/// Without a limit on crashes, each newer state would block the queue for the duration of a lease.
async fn key_that_kills_its_process_fails_although_newer_states_arrive() {
    let world = World::start();
    let state = |sequence| conformance::state("killer", sequence, Place::Moves);
    world.store.insert(&state(0)).await.unwrap();
    for crash in 1..=SETTINGS.max_attempts {
        let taken = world.take("killer", true).await;
        assert_eq!(taken.task.attempt, 1);
        world.store.insert(&state(crash.into())).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let report = world.sweep().await;
        let last = u32::from(crash == SETTINGS.max_attempts);
        let counts = (report.returned, report.failed, report.superseded);
        assert_eq!(counts, (1 - last, last, 1));
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    assert_eq!(world.record("killer").status, TaskStatus::Failure);
}

async fn task_with_expired_leases_gets_one_extra_attempt_alone() {
    let world = World::start();
    insert(&*world.store, &["neighbour"]).await;
    for (alone, expected) in [(false, 1), (false, 2), (true, 3)] {
        let taken = world.take("neighbour", alone).await;
        assert_eq!(taken.task.attempt, expected);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let report = world.sweep().await;
        assert_eq!(
            (report.returned, report.failed),
            (u32::from(!alone), u32::from(alone))
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_sweeps_return_a_task_once() {
    let world = World::start();
    let ids = numbered(250);
    insert(&*world.store, &ids).await;
    for id in &ids {
        take(&*world.store, id).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (one, two) = tokio::join!(world.sweep(), world.sweep());
    assert_eq!(one.returned + two.returned, 250);
    assert_eq!(world.count(TaskStatus::Pending), 250);
}

async fn failed_reclaim_does_not_end_the_sweep() {
    for fault in [Fault::Throttled, Fault::Invalid, Fault::Denied] {
        let world = World::start().with_stranded(5).await;
        let store = world.faulty(move |step, before| match (step, before) {
            ("reclaim", 0 | 2) => Some(fault),
            _ => None,
        });
        let report = world.sweep_on(store).await.unwrap();
        assert_eq!((report.returned, report.errors), (3, 2), "{report:?}");
        assert!(report.woke && !report.complete, "{report:?}");
        assert_eq!(report.pending.count, 4, "{report:?}");
        assert_eq!(
            world.sweep().await.returned,
            2,
            "the next sweep tries again"
        );
    }
}

async fn throttled_sweep_stops_returning_tasks_but_wakes_and_measures() {
    let world = World::start().with_stranded(500).await;
    let store = world.failing("reclaim", Fault::Throttled);
    let report = world.sweep_on(store).await.unwrap();
    assert!(report.errors < 50 && report.errors == report.transient_errors);
    assert_eq!((report.due, report.woke), (true, true), "{report:?}");
    assert_eq!((report.pending.count, report.taken.count), (1, 500));
}
