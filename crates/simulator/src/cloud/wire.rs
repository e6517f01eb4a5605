//! The simulated network to the table, which gives calls latency and faults.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::time::Millis;
use tokio::sync::oneshot;

use super::process::{Function, Process};
use super::settings::PATIENCE;
use super::world::{Actor, World};
use crate::fault::Fault;
use crate::sync::{lock, pause};

/// Minimum and maximum latency of a call in one direction.
const ONE_WAY: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(8));

pub(crate) const READS: &[Fault] = &[
    Fault::Throttled,
    Fault::Unavailable,
    Fault::LostAck,
    Fault::Latency,
];
/// The faults of a write.
pub const WRITES: &[Fault] = &[
    Fault::Throttled,
    Fault::Unavailable,
    Fault::TransactionConflict,
    Fault::LostAck,
    Fault::LateWrite,
    Fault::Latency,
];

/// Faults of a batch write, which has no conditions. A retry after a lost response would overwrite
/// later changes. Therefore, no response to a batch is lost here, and callers that write tasks in
/// batches must not lose responses.
pub(crate) const BATCHES: &[Fault] = &[Fault::Throttled, Fault::Unavailable, Fault::Latency];

/// Sends one call of a process to the table, which executes `apply`. The error is the fault that
/// the caller sees.
pub(crate) async fn exchange<T: Send + 'static>(
    Actor { world, process }: &Actor,
    operation: &'static str,
    kinds: &[Fault],
    apply: impl FnOnce(&World) -> T + Send + 'static,
) -> Result<T, Fault> {
    let call = process.enter(world, operation).await;
    let now = world.now();
    let fault = fault(world, process, kinds, now);
    lock(&world.ledger).called(now, process, operation, fault);
    let (mut out, mut back) = match process.function {
        Function::Operator => (Duration::ZERO, Duration::ZERO),
        _ => (one_way(world), one_way(world)),
    };
    match fault {
        Some(Fault::Partition) => (out, back) = (PATIENCE, Duration::ZERO),
        Some(Fault::Latency) => {
            let longest = Duration::from_millis(1_400);
            out += world.chance.between(Duration::from_millis(100), longest);
            back += world.chance.between(Duration::from_millis(100), longest);
        }
        Some(Fault::LateWrite) => {
            out = world.chance.between(PATIENCE, 4 * PATIENCE);
        }
        _ => {}
    }
    use Fault::{Partition, Throttled, TransactionConflict, Unavailable};
    if let Some(fault @ (Throttled | TransactionConflict | Unavailable | Partition)) = fault {
        pause(out + back).await;
        process.leave(world, call, operation).await;
        return Err(fault);
    }
    let response = send(world, out, back, apply);
    process.sent(world, call, operation).await;
    // The sender is dropped without a response only when the cloud itself ends.
    let response = tokio::time::timeout(PATIENCE, response).await;
    process.leave(world, call, operation).await;
    match response {
        Ok(Ok(response)) if fault != Some(Fault::LostAck) => Ok(response),
        _ => Err(Fault::LostAck),
    }
}

/// Sends a request. It arrives even if its sender crashes.
fn send<T: Send + 'static>(
    world: &Arc<World>,
    out: Duration,
    back: Duration,
    apply: impl FnOnce(&World) -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (tell, response) = oneshot::channel();
    let world = world.clone();
    tokio::spawn(async move {
        pause(out).await;
        let done = apply(&world);
        pause(back).await;
        // The caller is gone if it crashed or timed out.
        let _unheard = tell.send(done);
    });
    response
}

fn fault(world: &World, process: &Process, kinds: &[Fault], now: Millis) -> Option<Fault> {
    if process.function == Function::Operator {
        return None;
    }
    if process.is_cut_off(now) {
        world.chance.count(Fault::Partition);
        return Some(Fault::Partition);
    }
    world.chance.befalls(kinds, now)
}

fn one_way(world: &World) -> Duration {
    world.chance.between(ONE_WAY.0, ONE_WAY.1)
}
