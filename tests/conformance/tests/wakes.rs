//! Wake-up requests: each one is counted, and a request that may be lost is an error.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use conformance::{MARKER, NOW, Queue, claim, pause};
use lifo_queue::notify::WakeReason;
use lifo_queue::time::Clock;
use lifo_queue::wake::{Wake, WakeError};
use simulator::fault::Fault;

conformance::on_both_stores! {
    burst_publishes_once_until_its_marker_expires,
    sweep_publishes_despite_a_live_marker,
    failed_publish_is_an_error_and_its_event_can_publish_again,
    a_request_that_was_not_counted_is_an_error,
    an_active_processor_is_not_notified_but_sees_the_request,
    a_paused_queue_is_not_woken,
}

async fn insert(queue: &Queue, event: &str) -> Result<Wake, WakeError> {
    queue.waker().request(event, WakeReason::Insert).await
}

async fn burst_publishes_once_until_its_marker_expires() {
    let queue = Queue::start();
    assert_eq!(insert(&queue, "batch-0").await.unwrap(), Wake::Published);
    for batch in 1..100 {
        let wake = insert(&queue, &format!("batch-{batch}")).await.unwrap();
        assert_eq!(wake, Wake::AlreadyNotified);
    }
    assert_eq!(
        queue.control().await.requested,
        100,
        "every request is counted"
    );
    assert_eq!(queue.notifications(), 1);
    tokio::time::sleep(MARKER).await;
    assert_eq!(insert(&queue, "later").await.unwrap(), Wake::Published);
}

async fn sweep_publishes_despite_a_live_marker() {
    let queue = Queue::start();
    assert_eq!(insert(&queue, "batch").await.unwrap(), Wake::Published);
    // The notification was lost, and the sweep runs while the marker is still set.
    let wake = queue.waker().request("sweep", WakeReason::Sweep).await;
    assert_eq!(wake.unwrap(), Wake::Published);
    assert_eq!(insert(&queue, "next").await.unwrap(), Wake::AlreadyNotified);
    assert_eq!(queue.notifications(), 2);
}

async fn failed_publish_is_an_error_and_its_event_can_publish_again() {
    let queue = Queue::start();
    queue.topics.set_broken(true);
    assert!(matches!(
        insert(&queue, "batch").await,
        Err(WakeError::Notify(_))
    ));
    queue.topics.set_broken(false);
    // The stream redelivers the same batch while the marker is still set.
    assert_eq!(insert(&queue, "batch").await.unwrap(), Wake::Published);
    assert_eq!(queue.notifications(), 1);
}

async fn a_request_that_was_not_counted_is_an_error() {
    for step in ["request", "mark_notified"] {
        let queue = Queue::start();
        let waker = queue.waker_on(queue.failing(step, Fault::LostAck));
        let error = waker.request("batch", WakeReason::Insert).await;
        assert!(matches!(error, Err(WakeError::Store(_))), "{step}");
        assert!(queue.topics.process_tasks().is_empty(), "{step}");
        // The marker, written before the response was lost, does not block the retry.
        assert_eq!(
            insert(&queue, "batch").await.unwrap(),
            Wake::Published,
            "{step}"
        );
    }
}

async fn an_active_processor_is_not_notified_but_sees_the_request() {
    let queue = Queue::start();
    queue.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    assert_eq!(insert(&queue, "batch").await.unwrap(), Wake::AlreadyAwake);
    assert_eq!(queue.control().await.requested, 1);
    // The processor's lease has expired, so perhaps no processor is active.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(insert(&queue, "next").await.unwrap(), Wake::Published);
}

async fn a_paused_queue_is_not_woken() {
    let queue = Queue::start();
    let until = queue.clock.now().plus(Duration::from_secs(60));
    queue.store.pause(&pause(until)).await.unwrap();
    assert_eq!(insert(&queue, "batch").await.unwrap(), Wake::Paused);
    assert_eq!(queue.control().await.requested, 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(insert(&queue, "batch").await.unwrap(), Wake::Published);
}
