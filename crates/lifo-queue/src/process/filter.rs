//! Selects the tasks of a page that may start now, and records what a pass over the index found.

use std::collections::{HashMap, VecDeque};

use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// A pass over the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// Time at which the pass requested its first page.
    pub(super) started: Option<Millis>,
    /// Whether a task was taken during the pass.
    pub(super) took: bool,
    /// Whether `may_start` rejected a due task, for example because the task must run alone.
    pub(super) passed_over: bool,
    /// Earliest time at which a task in backoff or a closed group becomes due.
    pub(super) next_due: Option<Millis>,
}

/// Decides which tasks may start now.
pub(super) struct Filter<'a> {
    pass: &'a mut Pass,
    skip: &'a HashMap<TaskId, Millis>,
    now: Millis,
    may_start: &'a mut dyn FnMut(&Candidate) -> bool,
}

impl<'a> Filter<'a> {
    pub(super) fn new(
        pass: &'a mut Pass,
        skip: &'a HashMap<TaskId, Millis>,
        now: Millis,
        may_start: &'a mut dyn FnMut(&Candidate) -> bool,
    ) -> Self {
        Self {
            pass,
            skip,
            now,
            may_start,
        }
    }

    /// Records that a task or the tasks of a closed group are not due before `until`.
    pub(super) fn not_before(&mut self, until: Millis) {
        // `Millis::MAX` means until a run ends, at an unknown time.
        if until < Millis::MAX {
            let next_due = self.pass.next_due.map_or(until, |due| due.min(until));
            self.pass.next_due = Some(next_due);
        }
    }

    /// Removes tasks up to and including the first eligible one, and returns that task.
    pub(super) fn pop(&mut self, tasks: &mut VecDeque<Candidate>) -> Option<Candidate> {
        while let Some(task) = tasks.pop_front() {
            if self.is_eligible(&task) {
                return Some(task);
            }
        }
        None
    }

    /// Removes and returns the eligible task at the index that `choose` returns.
    pub(super) fn pop_chosen(
        &mut self,
        tasks: &mut VecDeque<Candidate>,
        choose: impl FnOnce(&[&Candidate]) -> Option<usize>,
    ) -> Option<Candidate> {
        let (places, due): (Vec<_>, Vec<_>) = tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| self.is_eligible(task))
            .unzip();
        let place = *places.get(choose(&due)?)?;
        tasks.remove(place)
    }

    /// Whether a task is due, has not expired, and may be selected in this turn.
    pub(super) fn is_eligible(&mut self, task: &Candidate) -> bool {
        if task.ttl.is_expired(self.now) {
            return false;
        }
        let skipped_until = self.skip.get(&task.id).copied();
        let not_before = task.not_before.max(skipped_until);
        // `Millis::MAX` if the task runs in this turn, because its next start is unknown.
        if let Some(at) = not_before.filter(|at| *at > self.now) {
            self.not_before(at);
            return false;
        }
        let may_start = (self.may_start)(task);
        self.pass.passed_over |= !may_start;
        may_start
    }
}
