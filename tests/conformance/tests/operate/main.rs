//! Operator commands: their reports, and the processors that they wake.
#![allow(clippy::unwrap_used)]

mod redrive;
mod world;

use std::time::Duration;

use conformance::{MARKER, NOW, Queue, claim, insert, new_task, take};
use lifo_queue::control::Acquired;
use lifo_queue::notify::WakeReason;
use lifo_queue::operate::OperateError;
use lifo_queue::store::{Cancelled, Seen, Written};
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Clock;
use lifo_queue::wake::Wake;
use simulator::fault::Fault;

use self::world::{HOUR, exactly, with_failed};

conformance::on_both_stores! {
    status_counts_pending_taken_and_failed_tasks_but_no_expired_ones,
    status_of_an_empty_queue_has_counts_of_zero,
    status_fails_if_any_of_its_reads_fails,
    pause_blocks_wake_ups_and_resume_wakes_the_queue,
    resume_with_a_failed_wake_up_is_an_error_but_ends_the_pause,
    each_operator_wake_up_is_a_separate_event,
    cancelled_task_is_deleted_without_a_wake_up,
}

async fn status_counts_pending_taken_and_failed_tasks_but_no_expired_ones() {
    let queue = with_failed(&["f0", "f1"]).await;
    for n in 0..1_500 {
        let mut task = new_task(&format!("t{n}"), 100 + n);
        if n < 200 {
            task.expires_at = NOW.floor_seconds();
        }
        queue.store.insert(&task).await.unwrap();
    }
    take(&*queue.store, "t1000").await;
    queue.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    queue.store.request().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = queue.operator().status().await.unwrap();
    assert_eq!(status.now, NOW.plus(Duration::from_secs(2)));
    assert_eq!(
        (status.pending, status.taken, status.failed),
        (exactly(1_299), exactly(1), exactly(2))
    );
    assert_eq!(
        status.oldest_pending,
        Some(NOW.plus(Duration::from_millis(300)))
    );
    assert_eq!(status.control, queue.control().await);
    assert_eq!(status.control.requested, 1);
    assert!(status.control.live_lease(status.now).is_some());
}

async fn status_of_an_empty_queue_has_counts_of_zero() {
    let status = Queue::start().operator().status().await.unwrap();
    assert_eq!((status.pending, status.oldest_pending), (exactly(0), None));
    assert_eq!((status.taken, status.failed), (exactly(0), exactly(0)));
}

async fn status_fails_if_any_of_its_reads_fails() {
    for read in ["control", "pending_page"] {
        let queue = Queue::start();
        let broken = queue.failing(read, Fault::LostRequest);
        let status = queue.operator_on(broken).status().await;
        assert!(status.is_err(), "{read}");
    }
}

async fn pause_blocks_wake_ups_and_resume_wakes_the_queue() {
    let queue = Queue::start();
    let operator = queue.operator();
    let pause = |time| operator.pause(time, "maintenance", "ana");
    assert_eq!(pause(HOUR).await.unwrap(), Written::Done);
    assert_eq!(pause(HOUR / 2).await.unwrap(), Written::Lost);
    let control = queue.control().await;
    assert_eq!(control.paused_until, Some(NOW.plus(HOUR)));
    assert_eq!(control.pause_reason.as_deref(), Some("maintenance"));
    assert_eq!(operator.wake().await.unwrap(), Wake::Paused);
    assert_eq!(queue.notifications(), 0);
    assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    assert_eq!(queue.control().await.paused_until, None);
    assert_eq!(queue.notifications(), 1);
}

#[tokio::test]
async fn notification_during_a_pause_does_not_block_resume() {
    for store in [conformance::memory(), conformance::dynamodb()] {
        let queue = Queue::start();
        let waker = queue.waker_on(store.clone());
        let wake = waker.request("batch", WakeReason::Insert).await;
        assert_eq!(wake.unwrap(), Wake::Published);
        let operator = queue.operator_on(store.clone());
        operator.pause(HOUR, "maintenance", "ana").await.unwrap();
        let met = store.acquire(&claim("m1", NOW), queue.clock.now()).await;
        assert!(matches!(met, Ok(Acquired::Paused(_))), "{met:?}");
        assert_eq!(operator.resume().await.unwrap(), Wake::Published);
    }
}

async fn resume_with_a_failed_wake_up_is_an_error_but_ends_the_pause() {
    let queue = Queue::start();
    let operator = queue.operator();
    operator.pause(HOUR, "maintenance", "ana").await.unwrap();
    queue.topics.set_broken(true);
    let resumed = operator.resume().await;
    assert!(matches!(resumed, Err(OperateError::Wake(_))), "{resumed:?}");
    assert!(!queue.control().await.is_paused(NOW));
}

async fn each_operator_wake_up_is_a_separate_event() {
    let queue = Queue::start();
    let operator = queue.operator();
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyNotified);
    tokio::time::sleep(MARKER).await;
    assert_eq!(operator.wake().await.unwrap(), Wake::Published);
    let now = queue.clock.now();
    queue.store.acquire(&claim("m1", now), now).await.unwrap();
    assert_eq!(operator.wake().await.unwrap(), Wake::AlreadyAwake);
    assert_eq!(queue.control().await.requested, 4);
}

async fn cancelled_task_is_deleted_without_a_wake_up() {
    let queue = Queue::start();
    insert(&*queue.store, &["waits", "runs"]).await;
    take(&*queue.store, "runs").await;
    let operator = queue.operator();
    for (id, expected) in [
        ("waits", Cancelled::Done),
        ("waits", Cancelled::NotFound),
        ("runs", Cancelled::Is(TaskStatus::Taken)),
    ] {
        let cancelled = operator.cancel(&TaskId::from_stored(id), &Seen::Any).await;
        assert_eq!(cancelled.unwrap(), expected, "{id}");
    }
    assert_eq!(
        (queue.status("waits"), queue.status("runs")),
        (None, Some(TaskStatus::Taken))
    );
    assert_eq!(queue.control().await.requested, 0);
}
