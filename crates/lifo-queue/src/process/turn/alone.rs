//! Starts tasks that must run alone (S4).
//!
//! If no other task is running, such a task starts in its normal order. Otherwise, it is passed
//! over, so that it does not delay new tasks. Shortly before a turn stops starting tasks, it
//! reserves a *window* in which only tasks that were passed over start. Once the other runs have
//! ended, these tasks run one after another. Under steady load, each turn therefore runs at least
//! one of them.

use super::{Turn, TurnEnd};
use crate::process::select::{DEEP_PAGE, MAX_HEAD, Wanted};
use crate::process::settings::ProcessSettings;
use crate::store::{Candidate, Cursor};
use crate::time::Millis;

/// The window that a turn reserves for tasks that must run alone.
pub(super) struct AloneWindow {
    /// Start of the window. From then on, only tasks that must run alone start if one was passed
    /// over.
    from: Millis,
    /// End of the window. A task that must run alone starts before this time or in a later turn.
    until: Millis,
    /// Whether the window starts with the turn, because the timeout leaves no time at the turn's
    /// end.
    early: bool,
    /// Whether the window is needed because a task was passed over or an early window has not
    /// ended.
    needed: bool,
    /// Cursor at which the search for a task that must run alone continues; `None` for the head.
    after: Option<Cursor>,
    /// Number of other due tasks that the search has passed over.
    passed_over: usize,
}

impl AloneWindow {
    /// Creates the window for a turn that starts at `now`. It is early if less than two task
    /// timeouts lie between the middle of the turn and the hard stop.
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
            needed: early,
            after: None,
            passed_over: 0,
        }
    }

    /// Whether only tasks that must run alone may start now.
    pub(super) fn is_reserved(&self, now: Millis) -> bool {
        self.needed && self.from <= now && now < self.until
    }

    /// The end of the window; `None` if no window is needed.
    pub(super) fn end(&self) -> Option<Millis> {
        self.needed.then_some(self.until)
    }

    /// Records that a task that must run alone was passed over.
    pub(super) fn need(&mut self) {
        // An early window ends when another task runs.
        self.needed = !self.early;
    }

    /// Number of other due tasks after which the search ends, because it delays them. In an early
    /// window, the first such task ends the search, so that the window doesn't delay other tasks.
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

    /// Records that a task that must run alone starts. A late window stays open for the next one.
    pub(super) fn started(&mut self, now: Millis) {
        self.needed = !self.early && self.is_reserved(now);
    }
}

impl Turn<'_> {
    /// Starts the first due task that must run alone, or reads another page to find one. Call this
    /// function in the window while no task is running. The search ends at the end of the index, or
    /// after [`AloneWindow::most_passed_over`] other due tasks.
    pub(super) async fn start_alone(&mut self, now: Millis) -> Option<TurnEnd> {
        let after = self.alone.after.take();
        let wanted = Wanted {
            after: after.clone(),
            limit: DEEP_PAGE,
        };
        let Some(read) = self.fetch(wanted, now).await else {
            self.alone.after = after;
            return None;
        };
        let Ok(page) = &read.page else {
            self.alone.search_again();
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
            self.alone.passed_over += usize::from(!alone);
            alone
        });
        self.reads.failed = 0;
        self.alone.after.clone_from(&page.next);
        match found.cloned() {
            Some(task) => {
                self.alone.search_again();
                // Time has passed, so the next pass starts with a new head.
                self.selector.restart();
                self.start_attempt(task, false, now);
            }
            None if self.alone.is_searched() => {
                self.alone.needed = false;
                self.alone.search_again();
            }
            None => {}
        }
        None
    }
}
