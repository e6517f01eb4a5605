//! When a task runs that must run alone (S4).
//!
//! Whenever nothing else runs, it starts in its order. While others run it is passed over, so
//! that it holds back no arrival. Late in the turn, when starts would end soon anyway, a gap is
//! kept for those that were passed over: nothing else starts, and once the others have ended
//! they run one after another. So each turn under steady load runs one at least.

use super::{Turn, TurnEnd};
use crate::process::settings::ProcessSettings;
use crate::time::Millis;

/// The gap that a turn keeps for tasks that must run alone.
pub(super) struct Gap {
    /// Nothing else starts from this moment on, if a task was passed over.
    from: Millis,
    /// Such a task starts before this moment, or in a later turn.
    until: Millis,
    /// The gap opens with the turn, because the function's timeout leaves no time at its end.
    early: bool,
    /// A task that must run alone was passed over.
    wanted: bool,
    /// The head was read for the gap.
    looked: bool,
}

impl Gap {
    /// The gap of a turn that starts now. It is early where fewer than two runs fit between
    /// half of the turn and the moment at which everything must have ended.
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

    /// The last moment at which it is kept, if it is wanted.
    pub(super) fn end(&self) -> Option<Millis> {
        self.wanted.then_some(self.until)
    }

    /// A task that must run alone was passed over.
    pub(super) fn want(&mut self) {
        // An early gap is over when others run.
        self.wanted = !self.early;
    }

    /// Time passes before the gap is filled: the head must be read once more.
    pub(super) fn look_again(&mut self) {
        self.looked = false;
    }

    /// A task that must run alone starts. A late gap stays open for the next.
    pub(super) fn started(&mut self, now: Millis) {
        self.wanted = !self.early && self.is_kept(now);
    }
}

impl Turn<'_> {
    /// The gap is kept and nothing runs: the newest task on the head that must run alone starts.
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
            // A read that failed proves nothing.
            None => self.gap.wanted = self.failed_reads > 0,
        }
        None
    }
}
