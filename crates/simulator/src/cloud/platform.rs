//! Asynchronous invocations: concurrency limits, throttling back-off, retries.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::notify::WakeReason;

use super::clock::pause;
use super::fault::{FaultKind, lock};
use super::process::Function;
use super::settings::AsyncSettings;
use super::world::World;

/// A throttled event is retried after a second, and then after twice as long each time up to
/// five minutes
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
const THROTTLED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// What invokes a function.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The same at every retry and duplicate.
    pub(crate) message_id: String,
    pub(crate) reason: WakeReason,
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Failed,
    Died,
}

#[derive(Default)]
pub(crate) struct Platform {
    running: Mutex<BTreeMap<Function, usize>>,
    /// Events that are queued or being dealt with.
    events: AtomicUsize,
}

impl Platform {
    /// Whether no event is queued or being dealt with.
    pub(crate) fn is_idle(&self) -> bool {
        self.events.load(Ordering::Relaxed) == 0
    }

    /// Invocations of a function at this moment.
    pub(crate) fn running(&self, function: Function) -> usize {
        lock(&self.running).get(&function).copied().unwrap_or(0)
    }

    pub(crate) fn start(&self, function: Function) {
        *lock(&self.running).entry(function).or_default() += 1;
    }

    pub(crate) fn stop(&self, function: Function) {
        if let Some(there) = lock(&self.running).get_mut(&function) {
            *there -= 1;
        }
    }
}

fn settings(world: &World, function: Function) -> AsyncSettings {
    match function {
        Function::ProcessTasks => world.settings.process_tasks,
        Function::SweepTasks => world.settings.sweep_tasks,
        _ => world.settings.trigger,
    }
}

/// Queues an event for a function.
pub(crate) fn submit(world: &Arc<World>, function: Function, event: Event) {
    world.platform.events.fetch_add(1, Ordering::Relaxed);
    let world = world.clone();
    tokio::spawn(async move {
        if !settle(&world, function, &event).await {
            world.chance.count(FaultKind::EventDiscarded);
            let text = format!("{} for {function:?} is discarded", event.message_id);
            lock(&world.ledger).setback(world.now(), text);
        }
        world.platform.events.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Invokes the function until it succeeds; false when its retries are used up.
async fn settle(world: &Arc<World>, function: Function, event: &Event) -> bool {
    let settings = settings(world, function);
    let born = world.now();
    let mut failures = 0;
    let mut throttled = THROTTLED.0;
    loop {
        if world.now().since(born) > settings.max_age {
            return false;
        }
        let running = world.platform.running(function);
        if settings.concurrency.is_some_and(|limit| running >= limit) {
            world.chance.count(FaultKind::EventThrottled);
            pause(throttled).await;
            throttled = (2 * throttled).min(THROTTLED.1);
            continue;
        }
        let ended = super::functions::invoke(world, function, event).await;
        if ended == Ended::Returned {
            return true;
        }
        if failures == settings.retries {
            return false;
        }
        failures += 1;
        world.chance.count(FaultKind::EventRetried);
        pause(Duration::from_secs(60 * u64::from(failures))).await;
    }
}
