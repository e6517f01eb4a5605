//! Wake-up requests: each is counted, and a request that may be lost is an error.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use conformance::{NOW, claim, pause};
use lifo_queue::notify::WakeReason;
use lifo_queue::store::QueueStore;
use lifo_queue::time::{Clock, TokioClock};
use lifo_queue::wake::{Wake, WakeError, Waker};
use simulator::faulty::{Fault, FaultyStore};
use simulator::topics::Topics;

const MARKER: Duration = Duration::from_secs(10);

struct World {
    store: Arc<dyn QueueStore>,
    topics: Arc<Topics>,
    clock: Arc<TokioClock>,
}

impl World {
    fn start() -> Self {
        let clock = Arc::new(TokioClock::starting_at(NOW));
        Self {
            store: conformance::memory(),
            topics: Arc::default(),
            clock,
        }
    }

    fn waker(&self) -> Waker {
        Waker::new(
            self.store.clone(),
            self.topics.clone(),
            self.clock.clone(),
            MARKER,
        )
    }

    async fn insert(&self, event: &str) -> Result<Wake, WakeError> {
        self.waker().request(event, WakeReason::Insert).await
    }

    async fn requested(&self) -> u64 {
        self.store.control().await.unwrap().requested
    }
}

#[tokio::test(start_paused = true)]
async fn burst_publishes_once_until_its_marker_expires() {
    let world = World::start();
    assert_eq!(world.insert("batch-0").await.unwrap(), Wake::Published);
    for batch in 1..100 {
        let wake = world.insert(&format!("batch-{batch}")).await.unwrap();
        assert_eq!(wake, Wake::AlreadyNotified);
    }
    assert_eq!(world.requested().await, 100, "every request is counted");
    assert_eq!(world.topics.process_tasks().len(), 1);
    tokio::time::sleep(MARKER).await;
    assert_eq!(world.insert("later").await.unwrap(), Wake::Published);
}

#[tokio::test(start_paused = true)]
async fn sweep_publishes_despite_a_live_marker() {
    let world = World::start();
    assert_eq!(world.insert("batch").await.unwrap(), Wake::Published);
    // The notification is lost, and the sweep runs while the marker is still set.
    let wake = world.waker().request("sweep", WakeReason::Sweep).await;
    assert_eq!(wake.unwrap(), Wake::Published);
    assert_eq!(world.insert("next").await.unwrap(), Wake::AlreadyNotified);
    assert_eq!(world.topics.process_tasks().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_fails_is_an_error_and_its_event_may_publish_again() {
    let world = World::start();
    world.topics.set_broken(true);
    assert!(matches!(
        world.insert("batch").await,
        Err(WakeError::Notify(_))
    ));
    world.topics.set_broken(false);
    // The stream redelivers the same batch while the marker is still set.
    assert_eq!(world.insert("batch").await.unwrap(), Wake::Published);
    assert_eq!(world.topics.process_tasks().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_counted_is_an_error() {
    for step in ["request", "mark_notified"] {
        let world = World::start();
        let broken = FaultyStore::new(world.store.clone(), move |operation| {
            if operation == step {
                Fault::LostAck
            } else {
                Fault::None
            }
        });
        let (topics, clock) = (world.topics.clone(), world.clock.clone());
        let waker = Waker::new(Arc::new(broken), topics, clock, MARKER);
        let error = waker.request("batch", WakeReason::Insert).await;
        assert!(matches!(error, Err(WakeError::Store(_))), "{step}");
        assert!(world.topics.process_tasks().is_empty(), "{step}");
        // The marker written before the response was lost does not block the retry.
        assert_eq!(
            world.insert("batch").await.unwrap(),
            Wake::Published,
            "{step}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_active_processor_is_not_notified_but_sees_the_request() {
    let world = World::start();
    world.store.acquire(&claim("m1", NOW), NOW).await.unwrap();
    assert_eq!(world.insert("batch").await.unwrap(), Wake::AlreadyAwake);
    assert_eq!(world.requested().await, 1);
    // Its lease expired, so perhaps no processor is active.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.insert("next").await.unwrap(), Wake::Published);
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_is_not_woken() {
    let world = World::start();
    let until = world.clock.now().plus(Duration::from_secs(60));
    world.store.pause(&pause(until)).await.unwrap();
    assert_eq!(world.insert("batch").await.unwrap(), Wake::Paused);
    assert_eq!(world.requested().await, 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.insert("batch").await.unwrap(), Wake::Published);
}
