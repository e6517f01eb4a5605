//! Checks that do not depend on the reference. They use only the answers and the stored items, so
//! they find mistakes that the reference and a store share.

use std::collections::{BTreeMap, BTreeSet};

use lifo_queue::store::TakeOutcome;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{Counts, LeaseToken, TaskId, TaskStatus};

use crate::answer::Answer;
use crate::operation::Operation;
use crate::subject::Snapshot;

/// Tracks the current leases and the number of starts per task.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The current lease token of each TAKEN task.
    holders: BTreeMap<TaskId, LeaseToken>,
    /// Starts since the task was created or redriven, or since its newer state became PENDING.
    starts: BTreeMap<TaskId, u32>,
}

impl Ledger {
    /// Checks one operation and records it.
    pub fn enter(
        &mut self,
        operation: &Operation,
        answer: &Answer,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<(), String> {
        if answer.is_rejection() && before != after {
            return Err("rejected, and yet something changed".to_owned());
        }
        let ids: BTreeSet<_> = before.tasks.keys().chain(after.tasks.keys()).collect();
        for id in ids {
            let (was, is) = (before.tasks.get(id), after.tasks.get(id));
            if was == is {
                continue;
            }
            if operation.task() != Some(id) {
                return Err(format!("{id} changed without an operation on it"));
            }
            arrow(operation, was, is)?;
            newer(was, is).map_err(|wrong| format!("{id} {wrong}"))?;
            if let (Some(was), Some(is)) = (was, is)
                && was.created != is.created
                && !matches!(operation, Operation::Insert(task) if task.keyed.is_some())
            {
                return Err(format!("{id} changed its age"));
            }
            self.change(id, operation, was, is)?;
        }
        self.answers(operation, answer)?;
        self.counts(after)
    }

    /// Records the lease of a changed task.
    fn change(
        &mut self,
        id: &TaskId,
        operation: &Operation,
        was: Option<&Record>,
        is: Option<&Record>,
    ) -> Result<(), String> {
        let overtaken = was.is_some_and(|task| task.overtaken);
        match operation {
            Operation::Take(request) => {
                if self.holders.insert(id.clone(), request.token).is_some() {
                    return Err(format!("{id} has two live leases"));
                }
                *self.starts.entry(id.clone()).or_default() += 1;
            }
            Operation::Settle { lease, .. }
            | Operation::Return { lease, .. }
            | Operation::Reclaim { lease, .. } => {
                let holder = self.holders.remove(id);
                if holder != Some(lease.token) {
                    return Err(format!("{id} was held by {holder:?}"));
                }
                let swept = matches!(operation, Operation::Reclaim { .. });
                if swept && is.is_some_and(|task| task.lease_token.is_some()) {
                    return Err(format!("the sweep left its token on {id}"));
                }
                if matches!(operation, Operation::Return { returned, .. } if returned.counts == Counts::Nothing)
                    && let Some(starts) = self.starts.get_mut(id)
                {
                    *starts -= 1;
                }
            }
            Operation::Insert(_) if is.is_some_and(|task| task.overtaken) => {}
            Operation::Insert(_) | Operation::Foreign(_) | Operation::Redrive { .. } => {
                self.starts.remove(id);
            }
            _ => {}
        }
        // A newer state of a key has no attempts, even if it fails together with a crashing key.
        let left = is.is_some_and(|task| !task.overtaken);
        if left && overtaken {
            self.starts.remove(id);
        }
        Ok(())
    }

    /// Checks that a successful take has the current lease.
    fn answers(&self, operation: &Operation, answer: &Answer) -> Result<(), String> {
        match (operation, answer) {
            (Operation::Take(request), Answer::Taken(TakeOutcome::Won(taken))) => {
                let holder = self.holders.get(&taken.task.task_id);
                let ours = holder == Some(&request.token) && taken.lease.token == request.token;
                ours.then_some(())
                    .ok_or_else(|| "won, and yet another's".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks that `totalAttempts` is the number of starts, that `attempts` never exceeds it, and
    /// that the stored lease token is the recorded one.
    fn counts(&self, after: &Snapshot) -> Result<(), String> {
        for (id, task) in &after.tasks {
            let starts = self.starts.get(id).copied().unwrap_or(0);
            if task.total_attempts != starts || task.attempts > starts {
                return Err(format!("{id} started {starts} times, and counts {task:?}"));
            }
            let held = self.holders.get(id).copied();
            let stored = task
                .lease_token
                .filter(|_| task.status == TaskStatus::Taken);
            if held != stored {
                return Err(format!("{id} is held by {held:?}, and says {stored:?}"));
            }
        }
        Ok(())
    }
}

/// Checks that a key stays one and never becomes older. Its payload changes only with its version.
fn newer(was: Option<&Record>, is: Option<&Record>) -> Result<(), &'static str> {
    let (Some(was), Some(is)) = (was, is) else {
        return Ok(());
    };
    match (&was.version, &is.version) {
        (None, None) => Ok(()),
        (Some(old), Some(new)) if new < old => Err("got older"),
        (Some(old), Some(new)) if new == old && was.payload != is.payload => {
            Err("changed and kept its version")
        }
        (Some(_), Some(_)) => Ok(()),
        _ => Err("became or ceased to be a key"),
    }
}

/// Checks every state change against the "States" table. A settled task changes only through a
/// redrive or a newer state of its key.
fn arrow(operation: &Operation, was: Option<&Record>, is: Option<&Record>) -> Result<(), String> {
    use TaskStatus::{Failure, Pending, Success, Taken};
    let (from, to) = (was.map(|task| task.status), is.map(|task| task.status));
    let legal = match operation {
        Operation::Insert(task) if task.keyed.is_some() => match from {
            Some(Taken) => to == Some(Taken),
            None | Some(Pending | Success | Failure) => to == Some(Pending),
        },
        Operation::Insert(_) | Operation::Foreign(_) => (from, to) == (None, Some(Pending)),
        Operation::Take(_) => (from, to) == (Some(Pending), Some(Taken)),
        Operation::Settle { .. } if was.is_some_and(|task| task.overtaken) => {
            (from, to) == (Some(Taken), Some(Pending))
        }
        Operation::Settle { .. } => from == Some(Taken) && matches!(to, Some(Success | Failure)),
        Operation::Return { .. } => (from, to) == (Some(Taken), Some(Pending)),
        Operation::Reclaim { .. } => from == Some(Taken) && matches!(to, Some(Pending | Failure)),
        Operation::Quarantine { .. } => (from, to) == (Some(Pending), Some(Failure)),
        Operation::Adopt { .. } => (from, to) == (Some(Pending), Some(Pending)),
        Operation::Redrive { .. } => (from, to) == (Some(Failure), Some(Pending)),
        Operation::Cancel { .. } => (from, to) == (Some(Pending), None),
        _ => false,
    };
    legal
        .then_some(())
        .ok_or_else(|| format!("no row of the table: {from:?} to {to:?}"))
}
