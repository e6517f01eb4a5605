//! Starts tasks that must run alone (S4).
//!
//! If no other task is running, such a task starts in its normal order. Otherwise, it is passed
//! over, so that it does not delay new tasks. Shortly before a turn stops starting tasks, it
//! reserves a *gap* in which only tasks that were passed over start. Once the other runs have
//! ended, these tasks run one after another. Under steady load, each turn therefore runs at least
//! one of them.

use super::{Turn, TurnEnd};
use crate::process::select::{DEEP_PAGE, MAX_HEAD, Wanted};
use crate::process::settings::ProcessSettings;
use crate::store::{Candidate, Cursor};
use crate::time::Millis;

/// The gap that a turn reserves for tasks that must run alone.
pub(super) struct Gap {
    /// Start of the gap. From then on, only tasks that must run alone start if one was passed over.
    from: Millis,
    /// End of the gap. A task that must run alone starts before this time or in a later turn.
    until: Millis,
    /// Whether the gap starts with the turn, because the timeout leaves no time at the turn's end.
    early: bool,
    /// Whether the gap is needed because a task was passed over or an early gap has not ended.
    wanted: bool,
    /// Cursor at which the search for a task that must run alone continues; `None` for the head.
    after: Option<Cursor>,
    /// Number of other due tasks that the search has passed over.
    passed_over: usize,
}

impl Gap {
    /// Creates the gap for a turn that starts at `now`. It is early if less than two task timeouts
    /// lie between the middle of the turn and the hard stop.
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
            after: None,
            passed_over: 0,
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

    /// Records that a task that must run alone was passed over.
    pub(super) fn want(&mut self) {
        // An early gap ends when another task runs.
        self.wanted = !self.early;
    }

    /// Number of other due tasks after which the search ends, because it delays them. In an early
    /// gap, the first such task ends the search, so that the gap doesn't delay other tasks.
    fn most_passed_over(&self) -> usize {
        if self.early { 1 } else { usize::from(MAX_HEAD) }
    }

    /// Whether the search is over: it reached the end of the index or enough other due tasks.
    fn is_searched(&self) -> bool {
        self.after.is_none() || self.passed_over >= self.most_passed_over()
    }

    /// Makes the next search start at the head.
    fn search_again(&mut self) {
        self.after = None;
        self.passed_over = 0;
    }

    /// Records that a task that must run alone starts. A late gap stays open for the next one.
    pub(super) fn started(&mut self, now: Millis) {
        self.wanted = !self.early && self.is_kept(now);
    }
}

impl Turn<'_> {
    /// Starts the first due task that must run alone, or reads another page to find one. Call this
    /// function in the gap while no task is running. The search ends at the end of the index, or
    /// after [`Gap::most_passed_over`] other due tasks.
    pub(super) async fn fill_gap(&mut self, now: Millis) -> Option<TurnEnd> {
        let after = self.gap.after.take();
        let wanted = Wanted {
            after: after.clone(),
            limit: DEEP_PAGE,
        };
        let Some(read) = self.fetch(wanted, now).await else {
            self.gap.after = after;
            return None;
        };
        let Ok(page) = &read.page else {
            self.gap.search_again();
            return self.take_in(read).await;
        };
        // Update the time, because the read took a while.
        let now = self.now();
        let settings = self.processor.settings;
        let (selector, downstream) = (&self.selector, &self.downstream);
        let due = |task: &&Candidate| {
            selector.may_start(task, now) && downstream.is_open(task.id.group(), now)
        };
        let mut due = page.candidates.iter().filter(due);
        let found = due.find(|task| {
            let alone = settings.must_run_alone(task);
            self.gap.passed_over += usize::from(!alone);
            alone
        });
        self.reads.failed = 0;
        self.gap.after.clone_from(&page.next);
        match found.cloned() {
            Some(task) => {
                self.gap.search_again();
                // Time has passed, so the next pass starts with a new head.
                self.selector.restart();
                self.start_attempt(task, false, now);
            }
            None if self.gap.is_searched() => {
                self.gap.wanted = false;
                self.gap.search_again();
            }
            None => {}
        }
        None
    }
}
