//! The start, calls and death of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::clock::SkewedClock;
use super::process::{Function, Life, Process, When};
use super::world::{Actor, World};
use crate::fault::Fault;
use crate::sync::lock;

impl Actor {
    pub(crate) fn start(world: &Arc<World>, function: Function) -> Self {
        Self {
            world: world.clone(),
            process: Arc::new(Process::start(world, function)),
        }
    }
}

impl Process {
    /// A process whose faults are drawn at its start.
    pub(crate) fn start(world: &World, function: Function) -> Self {
        let now = world.now();
        let faulty = function != Function::Operator;
        let befalls = |kind| faulty && world.chance.draw(kind, now);
        let kill_at = befalls(Fault::KilledAtCall).then(|| {
            let when = [When::Before, When::During, When::After];
            let call = 1 + world.chance.below(1 + world.chance.below(60));
            (call, when[world.chance.below(3) as usize])
        });
        let (chance, seconds) = (&world.chance, Duration::from_secs);
        let kill_after =
            befalls(Fault::KilledAtRandom).then(|| chance.between(Duration::ZERO, seconds(60)));
        let cut_off = befalls(Fault::Partition).then(|| {
            // Cut the process off early, or shortly before its timeout, when it has to finish.
            let timeout = world.settings.process_tasks.timeout;
            let late = |before: u64| timeout.saturating_sub(seconds(before));
            let from = match chance.below(2) {
                0 => chance.between(late(18), late(8)),
                _ => chance.between(seconds(1), seconds(20)),
            };
            let from = now.plus(from);
            (from, from.plus(chance.between(seconds(5), seconds(45))))
        });
        let ahead_ms = if faulty { draw_skew(world) } else { 0 };
        Self {
            id: world.next_process(),
            function,
            clock: SkewedClock::new(world.clock, ahead_ms),
            ahead_ms,
            started: now,
            life: watch::Sender::new(Life::Running),
            calls: AtomicU32::new(0),
            kill_at,
            cut_off,
            kill_after,
        }
    }

    /// Called before a call. Returns the number of the call; never returns once the process has
    /// ended.
    pub(crate) async fn enter(&self, world: &World, operation: &'static str) -> u32 {
        self.still_running(world, operation).await;
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if self.kill_at == Some((call, When::Before)) {
            self.die(world, operation).await;
        }
        call
    }

    /// Called after the request was sent.
    pub(crate) async fn sent(&self, world: &World, call: u32, operation: &'static str) {
        if self.kill_at == Some((call, When::During)) {
            self.die(world, operation).await;
        }
    }

    /// Called after the response to the call.
    pub(crate) async fn leave(&self, world: &World, call: u32, operation: &'static str) {
        self.still_running(world, operation).await;
        if self.kill_at == Some((call, When::After)) {
            self.die(world, operation).await;
        }
    }

    async fn die(&self, world: &World, at: &'static str) {
        self.die_of(world, at, Fault::KilledAtCall).await;
    }

    /// Kills the process and never returns.
    pub(crate) async fn die_of(&self, world: &World, at: &'static str, kind: Fault) {
        world.chance.count(kind);
        lock(&world.ledger).killed(world.now(), self, at, kind);
        self.end(Life::Died);
        std::future::pending().await
    }

    async fn still_running(&self, world: &World, operation: &'static str) {
        match self.life() {
            Life::Running => return,
            Life::Died => {}
            Life::Returned => lock(&world.ledger).violation(
                world.now(),
                format!(
                    "process {} calls {operation} after its handler returned",
                    self.id
                ),
            ),
        }
        std::future::pending().await
    }
}

fn draw_skew(world: &World) -> i64 {
    let most = i64::try_from(world.settings.skew.as_millis()).unwrap_or(0);
    if most == 0 {
        return 0;
    }
    let skew = world.settings.skew;
    let ahead = world.chance.between(Duration::ZERO, 2 * skew);
    let ahead_ms = i64::try_from(ahead.as_millis()).unwrap_or(0) - most;
    if ahead_ms.abs() > 500 {
        world.chance.count(Fault::ClockSkew);
    }
    ahead_ms
}
