//! The downstream's ledger, which decides how the ends of runs affect further starts.
//!
//! A [`Ledger`] owns the circuit breaker, the slots and the walls of one group of tasks. The end of
//! a run updates all of them immediately, before the task's next state is written, so no decision
//! depends on how long that write takes. The ledger reads neither a clock nor a store.
//!
//! | module | content |
//! |---|---|
//! | `breaker` | the circuit breaker: whether only probes start |
//! | `slots` | the limit on concurrent tasks |
//! | `walls` | the reasons for an automatic pause |
//! | `breakers` | the ledgers of individual groups |
//! | `groups` | the limits and pauses of individual groups |
//! | `ending` | the last start of a task before it expires |
//! | `limits` | the limits in effect |
//! | `signal` | signals from runs about the downstream, and the ledger's decisions |
//! | `shared` | all ledgers of a turn, shared by the loop, the attempts and the heartbeat |

mod breaker;
mod breakers;
mod ending;
mod groups;
mod limits;
mod shared;
mod signal;
mod slots;
mod walls;

use self::breaker::Breaker;
pub use self::breaker::{FIRST_PROBE, LONGEST_PROBE};
use self::ending::NEXT_START;
pub(super) use self::ending::is_last_start;
pub(super) use self::groups::{GroupLimits, Learning};
pub(super) use self::limits::Limits;
pub(super) use self::shared::{Downstream, SharedDownstream};
pub(super) use self::signal::{Ruling, Run, RunNumber, Signal, Spared, Start};
use self::slots::Slots;
use self::walls::Walls;
use super::settings::ProcessSettings;
use crate::control::{Control, OpenBreaker};
use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// The ledger of one group of tasks.
#[derive(Debug)]
pub(super) struct Ledger {
    settings: ProcessSettings,
    limits: Limits,
    breaker: Breaker,
    slots: Slots,
    walls: Walls,
    /// Number of consecutive pauses before this turn for a busy or rejecting downstream.
    busy_pauses: u32,
    /// Time until which the turn starts tasks.
    last_start: Millis,
}

impl Ledger {
    /// Creates the ledger for a turn that starts at `now`, with the state that the previous turn
    /// left. After a pause for a busy or rejecting downstream, the ledger starts with one slot.
    pub(super) fn new(
        settings: &ProcessSettings,
        limits: Limits,
        control: &Control,
        last_start: Millis,
        now: Millis,
    ) -> Self {
        let mut breaker = Breaker::new(settings.breaker.and(Some(limits)), control.breaker, now);
        breaker.know(control, now);
        Self {
            settings: *settings,
            limits,
            breaker,
            slots: match control.busy_pauses {
                0 => Slots::new(limits.concurrency),
                _ => Slots::probing(limits.concurrency),
            },
            walls: Walls::default(),
            busy_pauses: control.busy_pauses,
            last_start,
        }
    }

    /// The limit on concurrent tasks in effect.
    pub(super) fn concurrency(&self) -> usize {
        self.slots.limit()
    }

    /// Whether another task may start in addition to `running` others.
    pub(super) fn start(&self, running: usize, now: Millis) -> Start {
        if let Some(pause) = self.pause_due(now) {
            return match running {
                0 => Start::Pause(pause),
                // An active run may still get a result. In that case, the tasks are the cause, not
                // the downstream.
                _ => Start::Wait(Millis::MAX),
            };
        }
        let start = self.breaker.start(running, now);
        if let Start::Wait(_) = start {
            return start;
        }
        if let Some(until) = self.slots.asked_until(now) {
            return Start::Wait(until);
        }
        // A probe doesn't need a free slot, because only one probe runs at a time.
        if start == Start::Any && !self.slots.is_open(running, now) {
            let wake = self.slots.wait_until().filter(|at| *at > now);
            return Start::Wait(wake.unwrap_or(Millis::MAX));
        }
        start
    }

    /// Chooses the next probe from the due tasks with [`Breaker::choose`].
    pub(super) fn choose_probe(
        &self,
        due: &[&Candidate],
        tried_too: bool,
        now: Millis,
    ) -> Option<usize> {
        let ids: Vec<&TaskId> = due.iter().map(|task| &task.id).collect();
        self.breaker.choose(&ids, self.ending(due, now), tried_too)
    }

    /// Records that an attempt at a task starts. Returns whether it is a probe.
    pub(super) fn attempt_started(&mut self, task: &TaskId) -> bool {
        self.breaker.starts(task)
    }

    /// Records that an attempt ended without a run, for example because the take failed.
    pub(super) fn attempt_without_run(&mut self, task: &TaskId, now: Millis) {
        self.breaker.probe_over(task, now);
    }

    /// Records that a run starts, and returns its number.
    pub(super) fn run_started(&mut self) -> RunNumber {
        self.breaker.run_starts()
    }

    /// Records that a run ended with this signal. `jitter` is a random number from 0 to 1.
    pub(super) fn run_ended(
        &mut self,
        run: &Run,
        task: &TaskId,
        signal: Signal,
        jitter: f64,
    ) -> Ruling {
        let now = run.ended;
        match signal {
            Signal::Result => {
                match self.slowness(run) {
                    Some(share) => self.slots.slow(run.started, share, now),
                    None => self.slots.succeeded(),
                }
                self.walls.got_result(self.breaker.newest_run());
            }
            Signal::Busy { retry_after } => {
                self.slots.busy(retry_after, jitter, now);
                self.walls.busy(task, run.number);
            }
            Signal::Rejecting => {
                // The log omits the response, because it can contain the payload.
                tracing::error!(
                    task_id = %task,
                    "the downstream rejects the queue's requests; see the task's lastError"
                );
                self.walls.rejected(task, run.number);
            }
            Signal::Unavailable | Signal::InternalError | Signal::Nothing => {}
        }
        let spared = self.change(|breaker| breaker.run_ended(run.number, task, signal, now));
        let ruling = Ruling {
            spared,
            next_start: match signal {
                // Internal errors do not pause the queue.
                Signal::InternalError => NEXT_START,
                _ => self.next_start(now),
            },
            held: self.breaker.is_held(now),
            signal,
        };
        let named_no_time = self.slots.retry_after().is_none();
        if self.walls.is_busy() && named_no_time && self.slots.is_congested(now) {
            self.breaker.open(now);
        }
        ruling
    }

    /// Records that a task was returned because its run found the downstream unavailable.
    pub(super) fn returned(&mut self, ruling: &Ruling) {
        // Internal errors need no pause, because they allow fewer returns per task.
        if self.breaker.is_open() && ruling.signal != Signal::InternalError {
            self.walls.probe_failed();
        }
    }

    /// Records that a task ended as FAILURE, which restarts the count of failed probes for a pause.
    pub(super) fn failed(&mut self) {
        self.walls.task_failed();
    }

    /// Target latency divided by the duration of a run that exceeded it; otherwise `None`.
    fn slowness(&self, run: &Run) -> Option<f64> {
        let target = self.settings.target_latency?;
        let took = run.ended.since(run.started);
        (took > target).then(|| target.as_secs_f64() / took.as_secs_f64())
    }

    /// Changes the breaker. If it closes, the slots are reset, because the limit from before the
    /// outage says nothing about the current capacity.
    fn change<T>(&mut self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let was_open = self.breaker.is_open();
        let result = change(&mut self.breaker);
        if was_open && !self.breaker.is_open() {
            self.slots = Slots::new(self.limits.concurrency);
        }
        result
    }

    /// Whether earlier events no longer have any effect.
    fn is_at_rest(&self) -> bool {
        self.breaker.is_at_rest() && self.walls.is_at_rest() && self.slots.is_at_rest()
    }

    /// The open breaker, for the control item; `None` while it is closed.
    pub(super) fn open_breaker(&self) -> Option<OpenBreaker> {
        self.breaker.state()
    }

    /// Changes the limits in effect.
    pub(super) fn change_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.slots.change_max(limits.concurrency);
        self.breaker.change_limits(limits);
    }

    /// Executes the operators' last command in the control item, if this turn has not read it yet.
    pub(super) fn obey(&mut self, control: &Control, now: Millis) {
        self.change(|breaker| breaker.obey(control, now));
    }

    /// Closes the breaker of an empty queue, unless an operator holds it open.
    pub(super) fn end_outage(&mut self, now: Millis) {
        self.change(|breaker| breaker.end_outage(now));
    }
}

#[cfg(test)]
mod tests;
