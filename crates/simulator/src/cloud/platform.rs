//! Asynchronous invocations with concurrency limits, backoff after throttling, and retries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::invocation::{Ended, Event};
use super::process::Function;
use super::settings::AsyncSettings;
use super::world::World;
use crate::fault::Fault;
use crate::sync::{lock, pause};

/// Initial and maximum delay of a throttled event. The delay doubles with each retry
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>).
const THROTTLED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

fn settings(world: &World, function: Function) -> AsyncSettings {
    match function {
        Function::ProcessTasks => world.settings.process_tasks,
        Function::SweepTasks => world.settings.sweep_tasks,
        _ => world.settings.trigger,
    }
}

pub(crate) fn submit(world: &Arc<World>, function: Function, event: Event) {
    world.platform.events.fetch_add(1, Ordering::Relaxed);
    let world = world.clone();
    tokio::spawn(async move {
        if !settle(&world, function, &event).await {
            world.chance.count(Fault::EventDiscarded);
            let text = format!("{} for {function:?} is discarded", event.message_id);
            lock(&world.ledger).setback(world.now(), text);
        }
        world.platform.events.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Invokes the function until it succeeds. Returns false once its retries are exhausted or the
/// event is too old.
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
            world.chance.count(Fault::EventThrottled);
            pause(throttled).await;
            throttled = (2 * throttled).min(THROTTLED.1);
            continue;
        }
        let ended = world.functions.invoke(world, function, event).await;
        if ended == Ended::Returned {
            return true;
        }
        if failures == settings.retries {
            return false;
        }
        failures += 1;
        world.chance.count(Fault::EventRetried);
        pause(Duration::from_secs(60 * u64::from(failures))).await;
    }
}
