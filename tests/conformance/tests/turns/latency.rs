//! Concurrency that adapts to the duration of runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use conformance::NOW;
use lifo_queue::process::{Exit, Invocation, Processor};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::task::Task;
use lifo_queue::time::{Clock, TokioClock};

use super::world::*;

/// A downstream whose run time is 100 ms, later 50 ms, multiplied by the number of concurrent runs.
struct Shared {
    clock: TokioClock,
    running: AtomicUsize,
    most: [AtomicUsize; 2],
}

/// The time at which the downstream becomes faster.
const FASTER: Duration = Duration::from_secs(25);

#[async_trait]
impl TaskRunner for Shared {
    async fn run(&self, _: &Task) -> Outcome {
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        let elapsed = self.clock.now().since(NOW);
        let (phase, each) = match elapsed < FASTER {
            true => (0, 100),
            false => (1, 50),
        };
        // Allow the turn ten seconds to adapt.
        if elapsed > FASTER * phase + 10 * SECOND {
            self.most[phase as usize].fetch_max(running, Ordering::Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(each) * u32::try_from(running).unwrap()).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        Outcome::Success
    }
}

/// The maximum concurrency while the downstream is slow, and after it became faster.
async fn most(target_latency: Option<Duration>) -> [usize; 2] {
    let mut world = World::new(|_| at_once());
    world.settings.slots = 40;
    world.settings.target_latency = target_latency;
    let world = world.with_tasks(5_000).await;
    let runner = Arc::new(Shared {
        clock: TokioClock::starting_at(NOW),
        running: AtomicUsize::new(0),
        most: [AtomicUsize::new(0), AtomicUsize::new(0)],
    });
    let processor = Processor::new(
        world.store.clone(),
        world.topics.clone(),
        runner.clone(),
        world.clock.clone(),
        world.settings,
    );
    let invocation = Invocation {
        message_id: "m1".to_owned(),
        deadline: None,
    };
    let summary = processor.turn(invocation).await.unwrap();
    assert_eq!(summary.exit, Exit::TimeUp);
    [&runner.most[0], &runner.most[1]].map(|most| most.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn the_concurrency_follows_a_target_latency() {
    let [slow, fast] = most(Some(Duration::from_millis(1_000))).await;
    assert!((8..=12).contains(&slow), "{slow} concurrent runs");
    assert!((16..=24).contains(&fast), "{fast} concurrent runs");
}

#[tokio::test(start_paused = true)]
async fn without_a_target_latency_every_slot_is_used() {
    assert_eq!(most(None).await, [40, 40]);
}
