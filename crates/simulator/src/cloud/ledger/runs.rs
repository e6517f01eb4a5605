//! Checks that each run has its own lease and that no limit is exceeded.

use std::time::Duration;

use lifo_queue::store::memory::Record;
use lifo_queue::task::{LeaseToken, Task, TaskId, TaskStatus};
use lifo_queue::time::Millis;

use super::trace::What;
use super::{Ledger, Process, RunEnd};
use crate::cloud::process::Life;

/// Maximum time from a busy run to the return of its task. The processor counts the run when it
/// returns the task. With faults, another run may end in between.
const LATE_RETURN: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) process: u32,
    pub(super) task: TaskId,
    token: Option<LeaseToken>,
    started: Millis,
    until: Millis,
    /// Whether the run's task was taken to run alone.
    alone: bool,
}

impl Ledger {
    pub(crate) fn run_started(
        &mut self,
        now: Millis,
        process: &Process,
        task: &Task,
        truth: Option<&Record>,
    ) {
        let id = &task.task_id;
        self.starts += 1;
        self.slots_start(process, id);
        self.trace
            .push(now, process.id, What::Run(id.clone(), task.total_attempts));
        self.touched(now, process.id, id);
        let other = self
            .runs
            .iter()
            .any(|run| run.task == *id && run.until > now);
        if other {
            self.violation(now, format!("S1: {id} runs twice concurrently"));
        }
        let token = truth.and_then(|record| record.lease_token);
        let take = token.and_then(|token| self.takes.get(&token.0));
        let taken = truth.is_some_and(|record| record.status == TaskStatus::Taken);
        if !taken || take.is_none_or(|take| take.process != process.id) {
            self.violation(now, format!("S1: {id} runs without a lease"));
        }
        let limits = &self.settings.process;
        // Allow one extra start, because a task starts alone once more after crashes, so that it
        // cannot affect other tasks.
        let unavailable = limits.breaker.map_or(0, |breaker| breaker.max_returns);
        let most = limits.max_attempts + limits.max_busy_returns + unavailable + 1;
        let history = self.histories.entry(id.clone()).or_default();
        history.starts += 1;
        let (starts, done) = (history.starts, history.done);
        let older = task.version < history.newest_run;
        history.newest_run.clone_from(&task.version);
        if starts > most {
            self.violation(now, format!("S4: {id} starts for the {starts}th time"));
        }
        if done.is_some_and(|token| !self.is_excused(token)) {
            self.violation(now, format!("S2: {id} runs again though it was done"));
        }
        if older {
            self.violation(now, format!("a state of {id} runs after a newer one"));
        }
        let alone = truth.is_some_and(|record| record.alone);
        let neighbours = self.runs.iter().filter(|run| run.process == process.id);
        let crowded = neighbours.into_iter().any(|run| run.alone || alone);
        if crowded {
            self.violation(now, format!("S4: {id} runs while another must run alone"));
        }
        self.runs.push(Run {
            process: process.id,
            task: id.clone(),
            token,
            started: now,
            alone,
            until: truth.and_then(|record| record.lease_until).unwrap_or(now),
        });
    }

    pub(crate) fn run_ended(&mut self, now: Millis, process: &Process, task: &TaskId, end: RunEnd) {
        if process.life() == Life::Died {
            // Ignore the end of this run: a dying process drops its runs in arbitrary order.
            return;
        }
        self.trace
            .push(now, process.id, What::Ran(task.clone(), end));
        self.touched(now, process.id, task);
        self.slots.run_ended(process.id, task);
        let place = self
            .runs
            .iter()
            .position(|run| run.process == process.id && run.task == *task);
        let Some(run) = place.map(|place| self.runs.swap_remove(place)) else {
            return;
        };
        let seen = self.seen.entry(process.id).or_default();
        match end {
            // A run that started before the failures does not prove that the downstream recovered.
            RunEnd::Final if seen.doubtful_since.is_some_and(|at| run.started <= at) => {}
            RunEnd::Final => {
                seen.without_result
                    .retain(|at| now.since(*at) <= LATE_RETURN);
                seen.doubtful_since = None;
            }
            // A retry or a panic does not open the circuit breaker.
            RunEnd::Again => {}
            RunEnd::Busy | RunEnd::Unavailable | RunEnd::Dropped => {
                seen.without_result.push(now);
                seen.doubtful_since.get_or_insert(run.started);
            }
        }
        if let Some(history) = self.histories.get_mut(task) {
            match end {
                RunEnd::Final => history.done = run.token,
                RunEnd::Busy => history.busy = run.token,
                RunEnd::Again | RunEnd::Unavailable | RunEnd::Dropped => {}
            }
        }
    }
}
