//! The health of the downstream: how the ends of runs affect further starts, and which runs cost
//! their tasks an attempt.
//!
//! A [`Health`] is the evidence about one downstream: the queue's, or a group's with its own circuit
//! breaker. The end of a run updates it immediately, before the task's next state is written, so no
//! decision depends on how long that write takes. It reads neither a clock nor a store.
//!
//! A run without a result costs its task an attempt only if the downstream gave a result to a run
//! that started after the task's previous return. So an outage costs no attempt, and a task that
//! always fails pays for each run as soon as another task gets a result.
//!
//! | module | content |
//! |---|---|
//! | `breaker` | the circuit breaker: whether only probes start |
//! | `limit` | the limit on concurrent tasks |
//! | `domains` | the health of individual groups |
//! | `groups` | the limits and pauses of individual groups |
//! | `ending` | the last start of a task before it expires |
//! | `limits` | the limits in effect |
//! | `signal` | signals from runs about the downstream, and the decisions |
//! | `shared` | the health of all downstreams of a turn, shared by the loop, the attempts and the heartbeat |

mod breaker;
mod domains;
mod ending;
mod groups;
mod limit;
mod limits;
mod shared;
mod signal;

use std::collections::{HashMap, HashSet};

use self::breaker::Breaker;
pub use self::breaker::{FIRST_PROBE, LONGEST_PROBE, RUNS_TO_OPEN};
pub(super) use self::ending::is_last_start;
pub(super) use self::groups::{GroupLimits, UnsavedGroups};
use self::limit::Limit;
pub(super) use self::limits::Limits;
pub(super) use self::shared::{Downstream, SharedDownstream};
pub(super) use self::signal::{Ruling, Run, Signal, Start};
use super::settings::ProcessSettings;
use crate::control::{self, Cause, Control, OpenBreaker};
use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// The health of one downstream.
#[derive(Debug)]
pub(super) struct Health {
    settings: ProcessSettings,
    breaker: Breaker,
    limit: Limit,
    /// Start of the newest run that got a result in this turn.
    newest_result: Option<Millis>,
    /// Start of the turn.
    began: Millis,
    /// Ends of the runs that returned a task in this turn.
    returned: HashMap<TaskId, Millis>,
    /// Tasks that started while the breaker was open. Their runs cost no attempt.
    probes: HashSet<TaskId>,
}

impl Health {
    /// Creates the health for a turn that starts at `now`, with the state that the previous turn
    /// left.
    pub(super) fn new(
        settings: &ProcessSettings,
        limits: Limits,
        (breaker, left): (Option<OpenBreaker>, &control::Health),
        now: Millis,
    ) -> Self {
        Self {
            settings: *settings,
            breaker: Breaker::new(settings.breaker.is_some(), breaker, left, now),
            limit: Limit::new(limits.concurrency, left),
            newest_result: None,
            began: now,
            returned: HashMap::new(),
            probes: HashSet::new(),
        }
    }

    /// The limit on concurrent tasks in effect.
    pub(super) fn concurrency(&self) -> usize {
        self.limit.limit()
    }

    /// The limit on concurrent tasks in effect, for operators: 1 while only probes start.
    pub(super) fn shown_limit(&self) -> u32 {
        match self.open_breaker() {
            Some(_) => 1,
            None => u32::try_from(self.concurrency()).unwrap_or(u32::MAX),
        }
    }

    /// The number of held slots from which on tasks may be taken ahead; `None` if none may be, because
    /// the last run had no result.
    pub(super) fn limit_of_ahead(&self) -> Option<usize> {
        let is_sure = self.breaker.allows_all();
        is_sure.then(|| self.concurrency())
    }

    /// Whether another task may start in addition to `running` others.
    pub(super) fn start(&self, running: usize, now: Millis) -> Start {
        self.breaker.start(running, self.limit.limit(), now)
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
    pub(super) fn attempt_started(&mut self, task: &TaskId, now: Millis) -> bool {
        let is_probe = self.breaker.starts(task, now);
        if is_probe {
            self.probes.insert(task.clone());
        }
        is_probe
    }

    /// Records that an attempt ended without a run, for example because the take failed.
    pub(super) fn attempt_without_run(&mut self, task: &TaskId, now: Millis) {
        self.probes.remove(task);
        self.breaker.probe_over(task, now);
    }

    /// Records that a run ended with this signal.
    pub(super) fn run_ended(&mut self, run: &Run, task: &TaskId, signal: Signal) -> Ruling {
        let now = run.ended;
        let charged = self.is_charged(run, task, now);
        match (signal, signal.cause()) {
            (Signal::Result, _) => {
                match self.slowness(run) {
                    Some(share) => self.limit.slow(run.started, share, now),
                    None => self.limit.succeeded(run.started, now),
                }
                self.newest_result = self.newest_result.max(Some(run.started));
                self.returned.remove(task);
                self.breaker.got_result(now);
            }
            (_, Some(cause)) => {
                let mut asked = None;
                if let Signal::Busy { retry_after } = signal {
                    asked = retry_after;
                    self.limit.busy(run.started, now);
                }
                let mixed = self.limit.has_recent_result(now);
                // If the task pays for the run, it is probably the cause, not the downstream.
                match charged && self.settings.breaker.is_some() && cause != Cause::Busy {
                    true => self.breaker.probe_over(task, now),
                    false => self.breaker.no_result(task, (cause, asked), mixed, now),
                }
                self.returned.insert(task.clone(), now);
            }
            (_, None) => {
                self.breaker.probe_over(task, now);
                self.returned.insert(task.clone(), now);
            }
        }
        Ruling {
            charged,
            next_probe: self.breaker.next_probe(),
            next_start: self.next_start(now),
        }
    }

    /// Whether a run without a result costs an attempt: the downstream gave a result to a run that
    /// started after the task's previous return. Without a return in this turn, the turn's start
    /// counts, or the run's own start if it is the task's first.
    fn is_charged(&mut self, run: &Run, task: &TaskId, now: Millis) -> bool {
        if self.probes.remove(task) || self.breaker.is_held(now) {
            return false;
        }
        let since = match (self.returned.get(task), run.first) {
            (Some(returned), _) => *returned,
            (None, true) => run.started,
            (None, false) => self.began,
        };
        self.settings.breaker.is_none() || self.newest_result.is_some_and(|result| result > since)
    }

    /// Target latency divided by the duration of a run that exceeded it; otherwise `None`.
    fn slowness(&self, run: &Run) -> Option<f64> {
        let target = self.settings.target_latency?;
        let took = run.ended.since(run.started);
        (took > target).then(|| target.as_secs_f64() / took.as_secs_f64())
    }

    /// Whether earlier events no longer have any effect.
    fn is_at_rest(&self) -> bool {
        self.returned.is_empty() && self.open_breaker().is_none() && self.left().is_at_rest()
    }

    /// The open breaker, for the control item; `None` while it is closed.
    pub(super) fn open_breaker(&self) -> Option<OpenBreaker> {
        self.breaker.state()
    }

    /// The other facts, for the control item.
    pub(super) fn left(&self) -> control::Health {
        let (limit, failed_limit) = self.limit.left();
        control::Health {
            limit,
            failed_limit,
            ..self.breaker.left()
        }
    }

    /// Changes the limits in effect.
    pub(super) fn change_limits(&mut self, limits: Limits) {
        self.limit.change_max(limits.concurrency);
    }

    /// Reads the operators' commands at the start of a turn.
    pub(super) fn know(&mut self, control: &Control, now: Millis) {
        self.breaker.know(control, now);
    }

    /// Executes the operators' last command in the control item, if this turn has not read it yet.
    pub(super) fn obey(&mut self, control: &Control, now: Millis) {
        self.breaker.obey(control, now);
    }

    /// Closes the breaker of an empty queue, unless an operator holds it open.
    pub(super) fn end_outage(&mut self, now: Millis) {
        self.breaker.end_outage(now);
    }
}

#[cfg(test)]
mod tests;
