//! The start of tasks that must run alone (S4).
//!
//! If nothing else runs, such a task starts in its order. While other tasks run, it is passed over,
//! so that it does not delay new tasks. Late in the turn, shortly before starts end, the turn keeps
//! a *gap* for the tasks that were passed over. In the gap no other task starts. When the other
//! runs have ended, the tasks that were passed over run one after another. So under steady load
//! each turn runs at least one.

use super::{Turn, TurnEnd};
use crate::process::settings::ProcessSettings;
use crate::time::Millis;

/// The gap that a turn keeps for tasks that must run alone.
pub(super) struct Gap {
    /// Start of the gap. If a task was passed over, no other task starts from then on.
    from: Millis,
    /// End of the gap. A task that must run alone starts before it, or in a later turn.
    until: Millis,
    /// The gap starts with the turn: the function's timeout leaves no time at the turn's end.
    early: bool,
    /// The gap is needed: a task was passed over, or the gap is early and has not ended.
    wanted: bool,
    /// The head was read for the gap.
    looked: bool,
}

impl Gap {
    /// The gap of a turn that starts at `now`. It is early if less than two task timeouts lie
    /// between the middle of the turn and the hard stop.
    pub(super) fn new(settings: &ProcessSettings, now: Millis, hard_stop: Millis) -> Self {
        let until = hard_stop.minus(settings.task_timeout);
        let late = until
            .minus(settings.task_timeout)
            .min(now.plus(settings.turn));
        let early = late < now.plus(settings.turn / 2);
        Self {
            from: if early { now } else { late },
            until,
            early,
            wanted: early,
            looked: false,
        }
    }

    /// Whether only tasks that must run alone may start now.
    pub(super) fn is_kept(&self, now: Millis) -> bool {
        self.wanted && self.from <= now && now < self.until
    }

    /// The end of the gap; `None` if no gap is needed.
    pub(super) fn end(&self) -> Option<Millis> {
        self.wanted.then_some(self.until)
    }

    /// Notes that a task that must run alone was passed over.
    pub(super) fn want(&mut self) {
        // An early gap ends when another task runs.
        self.wanted = !self.early;
    }

    /// Makes the gap read the head again, because time passes before the gap is filled.
    pub(super) fn look_again(&mut self) {
        self.looked = false;
    }

    /// Notes that a task that must run alone starts. A late gap stays open for the next one.
    pub(super) fn started(&mut self, now: Millis) {
        self.wanted = !self.early && self.is_kept(now);
    }
}

impl Turn<'_> {
    /// Starts the newest task of the head that must run alone. Call it in the gap while nothing
    /// runs. It reads the head first, and starts the task at its next call.
    pub(super) async fn fill_gap(&mut self, now: Millis) -> Option<TurnEnd> {
        self.gap.looked = !self.gap.looked;
        if self.gap.looked {
            let head = self.selector.largest_head();
            return self.read(head, now).await;
        }
        let settings = self.processor.settings;
        match self
            .selector
            .pick(now, |task| settings.must_run_alone(task))
        {
            Some(task) => self.start_attempt(task, now),
            // After a failed read the gap stays, because the head may have such a task.
            None => self.gap.wanted = self.failed_reads > 0,
        }
        None
    }
}
