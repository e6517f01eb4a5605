//! Which tasks of a page may start now, and what a pass over the index found.

use std::collections::{HashMap, VecDeque};

use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;

/// A pass over the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// When its first page was requested.
    pub(super) started: Option<Millis>,
    /// A task was taken.
    pub(super) took: bool,
    /// A due task was passed over, because it may not start beside the running tasks.
    pub(super) passed_over: bool,
    /// When the first task in backoff becomes due.
    pub(super) next_due: Option<Millis>,
}

/// Which tasks may start now.
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

    /// Removes tasks up to the first eligible one, and returns that.
    pub(super) fn pop(&mut self, tasks: &mut VecDeque<Candidate>) -> Option<Candidate> {
        while let Some(task) = tasks.pop_front() {
            if task.ttl.is_expired(self.now) {
                continue;
            }
            let skipped_until = self.skip.get(&task.id).copied();
            let not_before = task.not_before.max(skipped_until);
            let pass = &mut *self.pass;
            match not_before.filter(|at| *at > self.now) {
                None if !(self.may_start)(&task) => pass.passed_over = true,
                None => return Some(task),
                // The task runs in this turn, so it is not known when it is due.
                Some(Millis::MAX) => {}
                Some(at) => pass.next_due = Some(pass.next_due.map_or(at, |due| due.min(at))),
            }
        }
        None
    }
}
