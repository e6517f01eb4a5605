//! The deployed functions, each invocation in its own process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws::error_chain;
use lifo_queue::process::{Exit, FailedTurn, Invocation, Processor, TurnSummary};
use lifo_queue::sweep::Sweeper;
use lifo_queue::wake::Waker;

use super::invocation::{Ended, Event};
use super::process::{Function, Life, Process};
use super::runner::ProcessRunner;
use super::topic::ProcessTopics;
use super::world::{Actor, Functions, World};
use crate::deployed;
use crate::fault::Fault;
use crate::sync::lock;

/// The product's functions.
pub(crate) struct Deployed;

#[async_trait]
impl Functions for Deployed {
    async fn invoke(&self, world: &Arc<World>, function: Function, event: &Event) -> Ended {
        invoke(world, function, event).await
    }
}

async fn invoke(world: &Arc<World>, function: Function, event: &Event) -> Ended {
    world.platform.start(function);
    let by = Actor::start(world, function);
    let process = &by.process;
    let id = process.id;
    let text = format!(
        "{function:?} starts with {} ({} ms ahead)",
        event.message_id, process.ahead_ms
    );
    world.note(id, text);
    let timeout = match function {
        Function::ProcessTasks => world.settings.process_tasks.timeout,
        Function::SweepTasks => world.settings.sweep_tasks.timeout,
        _ => world.settings.trigger.timeout,
    };
    let work = handle(&by, event, timeout);
    let ended = tokio::select! {
        biased;
        () = process.died() => Ended::Died,
        ended = work => ended,
        () = tokio::time::sleep(timeout) => {
            world.chance.count(Fault::DeadlinePassed);
            Ended::Died
        }
        () = tokio::time::sleep(process.kill_after.unwrap_or(timeout)) => {
            world.chance.count(Fault::KilledAtRandom);
            Ended::Died
        }
    };
    process.end(match ended {
        Ended::Died => Life::Died,
        Ended::Returned | Ended::Failed => Life::Returned,
    });
    lock(&world.ledger).process_ended(world.now(), process, ended);
    world.platform.stop(function);
    ended
}

async fn handle(by: &Actor, event: &Event, timeout: Duration) -> Ended {
    let Actor { world, process } = by;
    let failed = match process.function {
        Function::ProcessTasks => turn(by, event, timeout).await,
        Function::SweepTasks => sweep(by, event).await,
        _ => waker(by)
            .request(&event.message_id, event.reason)
            .await
            .map_or_else(
                |error| Some(error_chain::chain(&error)),
                |wake| {
                    world.note(process.id, format!("{wake:?}"));
                    None
                },
            ),
    };
    match failed {
        None => Ended::Returned,
        Some(error) => {
            world.note(process.id, format!("fails: {error}"));
            Ended::Failed
        }
    }
}

fn waker(by: &Actor) -> Waker {
    Waker::new(
        by.world.backend.store(by),
        Arc::new(ProcessTopics(by.clone())),
        Arc::new(by.process.clock),
        by.world.settings.process.notification_marker,
    )
}

async fn turn(by: &Actor, event: &Event, timeout: Duration) -> Option<String> {
    let Actor { world, process } = by;
    let processor = Processor::new(
        world.backend.store(by),
        Arc::new(ProcessTopics(by.clone())),
        Arc::new(ProcessRunner(by.clone())),
        Arc::new(process.clock),
        world.settings.process,
    );
    let invocation = Invocation {
        message_id: event.message_id.clone(),
        // The deadline is based on the platform's clock, which differs from the process's clock.
        deadline: Some(world.now().plus(timeout)),
    };
    let (summary, error) = match processor.turn(invocation).await {
        Ok(summary) => (summary, None),
        Err(FailedTurn { summary, error }) => (summary, Some(error_chain::chain(&error))),
    };
    ended_turn(world, process, &summary);
    error
}

fn ended_turn(world: &World, process: &Process, summary: &TurnSummary) {
    lock(&world.chance.census).turn(summary);
    let now = world.now();
    let mut ledger = lock(&world.ledger);
    ledger.note(now, process.id, format!("{:?} {summary:?}", summary.exit));
    match summary.exit {
        // After a turn without progress, a pause or a failed step, only sweeps request a wake-up.
        Exit::NoProgress => ledger.setback(now, "a turn without progress makes no tail call"),
        Exit::Paused => ledger.setback(now, "the queue is paused"),
        _ if summary.store_errors > 0 => ledger.setback(now, "a turn had DynamoDB errors"),
        _ => {}
    }
}

async fn sweep(by: &Actor, event: &Event) -> Option<String> {
    let Actor { world, process } = by;
    let sweeper = Sweeper::new(
        world.backend.store(by),
        waker(by),
        Arc::new(process.clock),
        deployed::sweep(&world.settings.process),
    );
    match sweeper.sweep(&event.message_id).await {
        Ok(report) => {
            lock(&world.chance.census).sweeps += 1;
            world.note(process.id, format!("{report:?}"));
            None
        }
        Err(error) => Some(error_chain::chain(&error)),
    }
}
