//! Operators: the reports they get, and the processors that their commands wake.
#![allow(clippy::unwrap_used, clippy::panic)]

mod redrive;
mod world;

use std::sync::Arc;
use std::time::Duration;

use conformance::{NOW, claim, insert, new_task, take};
use lifo_queue::control::Acquired;
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::OperateError;
use lifo_queue::store::{Cancelled, ControlStore, TaskStore, Written};
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Clock;
use lifo_queue::wake::{Wake, Waker};
use simulator::faulty::{Fault, FaultyStore};

use self::world::{HOUR, MARKER, World, exactly};

#[tokio::test(start_paused = true)]
async fn status_counts_pending_taken_and_failed_tasks_but_no_expired_ones() {
    let world = World::start().with_failed(&["f0", "f1"]).await;
    for n in 0..1_500 {
        let mut task = new_task(&format!("t{n}"), 100 + n);
        if n < 200 {
            task.expires_at = NOW.floor_seconds();
        }
        world.store.insert(&task).await.unwrap();
    }
    take(&*world.store, "t1000").await;
    world.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    world.store.request().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = world.operator().status().await.unwrap();
    assert_eq!(status.now, NOW.plus(Duration::from_secs(2)));
    assert_eq!(
        (status.pending, status.taken, status.failed),
        (exactly(1_299), exactly(1), exactly(2))
    );
    assert_eq!(
        status.oldest_pending,
        Some(NOW.plus(Duration::from_millis(300)))
    );
    assert_eq!(status.control, world.store.control().await.unwrap());
    assert_eq!(status.control.requested, 1);
    assert!(status.control.live_lease(status.now).is_some());
}

#[tokio::test(start_paused = true)]
async fn status_of_an_empty_queue_has_counts_of_zero() {
    let status = World::start().operator().status().await.unwrap();
    assert_eq!((status.pending, status.oldest_pending), (exactly(0), None));
    assert_eq!((status.taken, status.failed), (exactly(0), exactly(0)));
}

#[tokio::test(start_paused = true)]
async fn status_fails_if_any_of_its_reads_fails() {
    for read in ["control", "pending_page"] {
        let world = World::start();
        let broken = FaultyStore::new(world.store.clone(), move |operation| {
            if operation == read {
                Fault::LostRequest
            } else {
                Fault::None
            }
        });
        let status = world.operator_on(Arc::new(broken)).status().await;
        assert!(status.is_err(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn pause_blocks_wake_ups_and_resume_wakes_the_queue() {
    let world = World::start();
    let operator = world.operator();
    let pause = |time| operator.pause(time, "maintenance", "ana");
    assert_eq!(pause(HOUR).await.unwrap(), Written::Done);
    assert_eq!(pause(HOUR / 2).await.unwrap(), Written::Lost);
    let control = world.store.control().await.unwrap();
    assert_eq!(control.paused_until, Some(NOW.plus(HOUR)));
    assert_eq!(
        (control.pause_reason.as_deref(), control.busy_pauses),
        (Some("maintenance"), 0)
    );
    assert_eq!(operator.wake().await.unwrap(), Wake::Paused);
    assert_eq!(world.notifications(), 0);
    assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
    assert_eq!(world.notifications(), 1);
}

#[tokio::test]
async fn notification_during_a_pause_does_not_block_resume() {
    for store in [conformance::memory(), conformance::dynamodb().await] {
        let world = World::start();
        let (topics, clock) = (world.topics.clone(), world.clock.clone());
        let waker = Waker::new(store.clone(), topics, clock, MARKER);
        let wake = waker.request("batch", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::Published);
        let operator = world.operator_on(store.clone());
        operator.pause(HOUR, "maintenance", "ana").await.unwrap();
        let met = store.acquire(&claim("m1", NOW), world.clock.now()).await;
        assert!(matches!(met, Ok(Acquired::Paused(_))), "{met:?}");
        assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_whose_wake_up_fails_is_an_error_and_the_pause_is_over() {
    let world = World::start();
    world
        .operator()
        .pause(HOUR, "maintenance", "ana")
        .await
        .unwrap();
    world.topics.set_broken(true);
    let resumed = world.operator().resume().await;
    assert!(matches!(resumed, Err(OperateError::Wake(_))), "{resumed:?}");
    assert!(!world.store.control().await.unwrap().is_paused(NOW));
}

#[tokio::test(start_paused = true)]
async fn each_wake_up_of_an_operator_is_a_separate_event() {
    let world = World::start();
    let operator = world.operator();
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyNotified);
    tokio::time::sleep(MARKER).await;
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    let now = world.clock.now();
    world.store.acquire(&claim("m1", now), now).await.unwrap();
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyAwake);
    assert_eq!(world.store.control().await.unwrap().requested, 4);
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_is_deleted_without_a_wake_up() {
    let world = World::start();
    insert(&*world.store, &["waits", "runs"]).await;
    take(&*world.store, "runs").await;
    let operator = world.operator();
    let cancel = |id: &'static str| {
        let operator = &operator;
        async move { operator.cancel(&TaskId::from_stored(id)).await.unwrap() }
    };
    assert_eq!(cancel("waits").await, Cancelled::Done);
    assert_eq!(cancel("waits").await, Cancelled::NotFound);
    assert_eq!(cancel("runs").await, Cancelled::Is(TaskStatus::Taken));
    assert_eq!(
        (world.status("waits"), world.status("runs")),
        (None, Some(TaskStatus::Taken))
    );
    assert_eq!(world.store.control().await.unwrap().requested, 0);
}
