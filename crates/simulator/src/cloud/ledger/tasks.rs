//! Checks that the state machine allows each task change and that the process may make it.

use lifo_queue::store::memory::Record;
use lifo_queue::task::{LeaseToken, TaskId, TaskStatus, Ttl, Version};
use lifo_queue::time::Millis;

use super::trace::What;
use super::{Ledger, Process};
use crate::cloud::process::Function;

/// Number of times that a processor tries a call before it stops: once, plus four retries.
const TRIES: u32 = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) starts: u32,
    /// Lease token of the take whose run ended with success or failure.
    pub(super) done: Option<LeaseToken>,
    /// Lease token of the take whose run found the downstream busy.
    pub(super) busy: Option<LeaseToken>,
    pub(super) changed: Millis,
    /// Newest version of the key's state that started a run.
    pub(super) newest_run: Option<Version>,
    /// The final state of the task: `SUCCESS`, `FAILURE`, `shed` or `cancelled`.
    end: Option<&'static str>,
}

/// Returns the rule for keys, versions or creation times that a change breaks, if any.
fn no_newer_state(before: &Record, after: &Record) -> Option<&'static str> {
    match (&before.version, &after.version) {
        (Some(old), Some(new)) if new < old => Some("a key got older"),
        (Some(old), Some(new)) if new > old => None,
        (None, Some(_)) | (Some(_), None) => Some("a task became a key, or a key a task"),
        _ if before.created != after.created => Some("taskCreated changed"),
        _ => None,
    }
}

impl Ledger {
    pub(crate) fn task_changed(
        &mut self,
        now: Millis,
        process: &Process,
        id: &TaskId,
        before: Option<&Record>,
        after: Option<&Record>,
    ) {
        let glimpse = after.map(Into::into);
        self.trace
            .push(now, process.id, What::Task(id.clone(), glimpse));
        let history = self.histories.entry(id.clone()).or_default();
        history.changed = now;
        match after.filter(|after| after.status == TaskStatus::Taken) {
            Some(taken) => {
                let until = taken.lease_until.unwrap_or(now);
                self.leases.insert(id.clone(), until);
            }
            None => {
                self.leases.remove(id);
                self.slots_left(process, id);
            }
        }
        let wrong = self.judge(now, process, id, before, after);
        if let Some(wrong) = wrong {
            let change = (before.map(|b| b.status), after.map(|a| a.status));
            let text = format!("{wrong}: {id} {change:?} by process {}", process.id);
            self.violation(now, text);
        }
    }

    /// Returns the rule that a change breaks, if any.
    fn judge(
        &mut self,
        now: Millis,
        process: &Process,
        id: &TaskId,
        before: Option<&Record>,
        after: Option<&Record>,
    ) -> Option<&'static str> {
        use TaskStatus::{Failure, Pending, Success, Taken};
        let (Some(before), Some(after)) = (before, after) else {
            return self.came_or_went(now, process, id, before, after);
        };
        if let Some(wrong) = no_newer_state(before, after) {
            return Some(wrong);
        }
        let newer = before.version != after.version;
        if newer && after.status == Pending || before.overtaken && after.status != Taken {
            // The attempts of the new state start from 0.
            self.forget_runs(now, id);
        }
        match (before.status, after.status) {
            (Taken, Taken) | (Pending | Success | Failure, Pending) if newer => {
                (process.function != Function::CreateTasks).then_some("only create-tasks replaces")
            }
            // A key that crashes processes fails with its newer state. A redrive runs that state.
            (Taken, Failure) if before.overtaken && process.function == Function::SweepTasks => {
                self.set_end(id, after.status);
                self.reclaimed(process, before, after.status)
            }
            (Taken, Success | Failure) if before.overtaken => Some("S3: a newer state is lost"),
            (Taken, Pending) if before.overtaken && process.function != Function::SweepTasks => {
                self.not_its_own(process, before)
                    .then_some("S1: ended by another process")
            }
            (Pending, Taken) => self.taken(now, process, id, before, after),
            (Taken, Success | Failure) | (Taken, Pending)
                if process.function == Function::SweepTasks =>
            {
                self.set_end(id, after.status);
                self.reclaimed(process, before, after.status)
            }
            (Taken, Success | Failure) => {
                self.set_end(id, after.status);
                self.not_its_own(process, before)
                    .then_some("S1: settled by another process")
            }
            (Taken, Pending) => {
                let history = self.histories.get(id);
                let done = history.and_then(|history| history.done);
                let busy = history.and_then(|history| history.busy);
                let returns = before.total_attempts.saturating_sub(before.attempts);
                let spared = returns < self.settings.process.max_busy_returns;
                if self.not_its_own(process, before) {
                    Some("S1: returned by another process")
                } else if done.is_some() && done == before.lease_token {
                    Some("S2: returned although its run ended for good")
                } else if busy.is_some()
                    && busy == before.lease_token
                    && spared
                    && after.attempts == before.attempts
                {
                    Some("S4: a busy downstream cost an attempt")
                } else {
                    None
                }
            }
            (Pending, Failure) => {
                self.set_end(id, Failure);
                (process.function != Function::ProcessTasks)
                    .then_some("failed by a function other than process-tasks")
            }
            (Pending, Pending) => None,
            (Failure, Pending) if process.function == Function::Operator => {
                self.forget_runs(now, id);
                None
            }
            _ => Some("no such transition"),
        }
    }

    /// Resets a task's history, except for the newest state of the key that started a run.
    fn forget_runs(&mut self, now: Millis, id: &TaskId) {
        let history = self.histories.entry(id.clone()).or_default();
        *history = History {
            changed: now,
            newest_run: history.newest_run.take(),
            ..History::default()
        };
    }

    fn came_or_went(
        &mut self,
        now: Millis,
        process: &Process,
        id: &TaskId,
        before: Option<&Record>,
        after: Option<&Record>,
    ) -> Option<&'static str> {
        if before.is_none() {
            // A key starts over after its settled state was deleted.
            self.forget_runs(now, id);
        }
        let history = self.histories.entry(id.clone()).or_default();
        match (before, after) {
            (None, Some(after)) if after.status == TaskStatus::Pending => None,
            (Some(before), None) if process.function == Function::Operator => {
                let expired = matches!(before.ttl, Ttl::Seconds(_)) && before.ttl.is_expired(now);
                if before.status == TaskStatus::Pending {
                    // The order of a key is deleted with its item, so any state may follow.
                    history.newest_run = None;
                }
                match (before.status, expired) {
                    (TaskStatus::Taken, _) => return Some("S3: deleted while TAKEN"),
                    (TaskStatus::Pending, true) => history.end = Some("shed"),
                    (TaskStatus::Pending, false) => history.end = Some("cancelled"),
                    (TaskStatus::Success | TaskStatus::Failure, _) => {}
                }
                None
            }
            _ => {
                Some("S3: created with a status other than PENDING, or deleted without an operator")
            }
        }
    }

    fn set_end(&mut self, id: &TaskId, status: TaskStatus) {
        if status.is_settled()
            && let Some(history) = self.histories.get_mut(id)
        {
            history.end = Some(status.name());
        }
    }

    /// Records the end of a call for a task.
    pub(crate) fn call_ended(
        &mut self,
        now: Millis,
        process: &Process,
        operation: &'static str,
        task: &TaskId,
        failed: bool,
    ) {
        self.touched(now, process.id, task);
        let key = (process.id, task.clone());
        if !failed {
            self.failures.remove(&key);
            return;
        }
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        if *failures >= TRIES && self.exhausted.insert(key) {
            self.setback(
                now,
                format!("{operation} of {task} failed after all retries"),
            );
        }
    }

    /// Checks S3 at the end of the run: every task has ended.
    pub(crate) fn all_ended(&mut self, now: Millis) {
        let lost: Vec<TaskId> = self
            .histories
            .iter()
            .filter(|(_, history)| history.end.is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for id in lost {
            self.violation(now, format!("S3: {id} never ends"));
        }
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = Option<&'static str>> {
        self.histories.values().map(|history| history.end)
    }
}
