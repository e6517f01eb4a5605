//! A slot covers the run alone: settlements go on beside it, and takes are ahead of it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use conformance::NOW;
use lifo_queue::process::{MAX_PAGE_AGE, TurnSummary};
use lifo_queue::runner::Outcome;
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::layered::Layered;
use simulator::layered::tasks::{About, Layer, TaskCall};

use super::world::*;

pub(crate) const MS: Duration = Duration::from_millis(1);

/// A store whose calls take this long, and that records the end of each take.
struct Slow {
    latency: fn(&str) -> Duration,
    clock: TokioClock,
    taken: Arc<Mutex<HashMap<String, Millis>>>,
    store: Arc<dyn QueueStore>,
}

#[async_trait]
impl Layer for Slow {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        let task = match call.about {
            About::Take(request) => Some(request.candidate.id.to_string()),
            _ => None,
        };
        tokio::time::sleep((self.latency)(call.operation)).await;
        let result = call.on(self.store.clone()).await;
        if let Some(task) = task {
            self.taken.lock().unwrap().insert(task, self.clock.now());
        }
        result
    }
}

/// Runs a turn and returns its summary and the end of the last take of each task.
pub(crate) async fn turn(
    world: &World,
    latency: fn(&str) -> Duration,
) -> (TurnSummary, HashMap<String, Millis>) {
    let taken = Arc::default();
    let slow = Slow {
        latency,
        clock: *world.clock,
        taken: Arc::clone(&taken),
        store: world.store.clone(),
    };
    let summary = world.turn_on(Arc::new(Layered(slow))).await.unwrap();
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    (summary, taken)
}

/// A world whose runs take between half of 20 ms and three halves of it, on eight slots. From call
/// `hangs_from` on, they hang.
async fn short_runs(tasks: i64, hangs_from: u32) -> (World, Arc<Mutex<HashMap<String, Millis>>>) {
    let (starts, calls) = (Arc::<Mutex<HashMap<_, _>>>::default(), AtomicU32::new(0));
    let (noted, clock) = (starts.clone(), TokioClock::starting_at(NOW));
    let mut world = World::with_breaker(move |task| {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        let now = clock.now();
        noted.lock().unwrap().insert(task.task_id.to_string(), now);
        let runs = 10 + number * 7 % 21;
        match number < hangs_from {
            true => (runs * MS, Outcome::Success),
            false => (HOUR, Outcome::Success),
        }
    });
    world.settings.slots = 8;
    (world.with_tasks(tasks).await, starts)
}

#[tokio::test(start_paused = true)]
async fn slot_is_free_during_a_settlement_and_settlements_are_bounded_by_the_slots() {
    let starts = Arc::<Mutex<Vec<u64>>>::default();
    let (noted, clock) = (starts.clone(), TokioClock::starting_at(NOW));
    let mut world = World::new(move |_| {
        noted.lock().unwrap().push(clock.now().since(NOW).as_secs());
        (SECOND, Outcome::Success)
    });
    world.settings.slots = 1;
    let world = world.with_tasks(5).await;
    let latency = |operation: &str| match operation {
        "settle" => 5 * SECOND,
        _ => Duration::ZERO,
    };
    let (summary, _) = turn(&world, latency).await;
    assert_eq!(summary.succeeded, 5);
    // While two settlements are in progress beside one slot, no task starts.
    assert_eq!(*starts.lock().unwrap(), [0, 1, 6, 7, 12]);
}

#[tokio::test(start_paused = true)]
async fn task_that_is_taken_ahead_starts_within_100_ms_of_its_take() {
    let (world, starts) = short_runs(3_000, u32::MAX).await;
    let began = world.clock.now();
    let (summary, taken) = turn(&world, |_| 5 * MS).await;
    assert_eq!(summary.succeeded, 3_000);
    let starts = starts.lock().unwrap();
    let waits = taken.iter().map(|(task, taken)| starts[task].since(*taken));
    let longest = waits.max().unwrap();
    assert!(!longest.is_zero() && longest <= MAX_PAGE_AGE, "{longest:?}");
    // 3,000 runs of 20 ms on eight slots take 7.5 s. Without takes ahead, they took 11.
    let took = world.clock.now().since(began);
    assert!(took < 10 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn task_that_is_taken_ahead_of_a_hang_gets_its_attempt_and_its_start_back() {
    let (world, starts) = short_runs(1_000, 500).await;
    let (summary, taken) = turn(&world, |_| 5 * MS).await;
    assert!(summary.unstarted > 0, "{summary:?}");
    let starts = starts.lock().unwrap();
    let unstarted: Vec<_> = taken
        .keys()
        .filter(|task| !starts.contains_key(*task))
        .collect();
    assert!(!unstarted.is_empty());
    for task in unstarted {
        let record = world.record(task);
        assert_eq!((record.attempts, record.total_attempts), (0, 0), "{task}");
    }
}
