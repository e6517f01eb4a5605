//! The attempts of a turn, and the slots that they hold.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use super::OLD_RUN;
use crate::process::attempt::{Attempted, Attempts};
use crate::process::slots::{Ahead, Slots, State};
use crate::store::Candidate;
use crate::task::TaskId;
use crate::time::Millis;
use crate::trace;

/// The end of an attempt, or its panic.
pub(super) type Ended = Result<Attempted, JoinError>;

pub(super) struct Runs {
    attempts: Arc<Attempts>,
    /// Tells the runs to end, because the hard stop has passed.
    cut_off: watch::Sender<bool>,
    running: JoinSet<Attempted>,
    slots: Arc<Slots>,
    /// Notified when a slot becomes free.
    freed: watch::Receiver<State>,
    /// Start of each running attempt.
    started: HashMap<TaskId, Millis>,
    /// Whether the running task must run alone, so that no other task may start.
    alone: bool,
}

impl Runs {
    pub(super) fn new(attempts: Arc<Attempts>, cut_off: watch::Sender<bool>) -> Self {
        let slots = Arc::<Slots>::default();
        Self {
            attempts,
            cut_off,
            running: JoinSet::new(),
            freed: slots.watch(),
            slots,
            started: HashMap::new(),
            alone: false,
        }
    }

    /// Starts an attempt, which waits for a slot if the task is taken `ahead`.
    pub(super) fn start(&mut self, task: Candidate, alone: bool, ahead: bool, now: Millis) {
        self.alone = alone;
        self.started.insert(task.id.clone(), now);
        let slot = self.slots.hold(ahead);
        let attempt = trace::attempt(self.attempts.clone().attempt(task, alone, slot));
        self.running.spawn(attempt.in_current_span());
    }

    /// Number of attempts, including those that only store the result of their run.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Number of attempts whose run has not ended.
    pub(super) fn held(&self) -> usize {
        self.slots.held()
    }

    /// Whether the running task must run alone.
    pub(super) fn is_alone(&self) -> bool {
        self.alone && !self.is_empty()
    }

    /// Whether a run is so old that the turn should not end yet.
    pub(super) fn has_old(&self, now: Millis) -> bool {
        let mut starts = self.started.values();
        starts.any(|started| now.since(*started) >= OLD_RUN)
    }

    /// What to do while all slots up to `limit` are held.
    pub(super) fn ahead(&self, limit: usize) -> Ahead {
        self.slots.ahead(limit)
    }

    /// Lets tasks start, or returns those that wait for a slot.
    pub(super) fn set_closed(&self, closed: bool) {
        self.slots.set_closed(closed);
    }

    /// Returns an attempt that has ended. If there is none, the next [`Runs::changed`] waits for a
    /// slot that becomes free from now on.
    pub(super) fn ended(&mut self) -> Option<Ended> {
        let ended = self.running.try_join_next();
        if ended.is_none() {
            self.freed.mark_unchanged();
        }
        self.removed(ended)
    }

    /// Waits until an attempt ends, which it returns, or until a slot becomes free.
    pub(super) async fn changed(&mut self) -> Option<Ended> {
        let ended = tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => Some(ended),
            _ = self.freed.changed() => None,
        };
        self.removed(ended)
    }

    /// Waits until an attempt ends. Returns `None` if none is left.
    pub(super) async fn next_end(&mut self) -> Option<Ended> {
        let ended = self.running.join_next().await;
        self.removed(ended)
    }

    fn removed(&mut self, ended: Option<Ended>) -> Option<Ended> {
        if let Some(Ok(attempted)) = &ended {
            self.started.remove(&attempted.task);
        }
        ended
    }

    pub(super) fn is_cut_off(&self) -> bool {
        *self.cut_off.borrow()
    }

    /// Tells the runs to end.
    pub(super) fn cut_off(&self) {
        self.cut_off.send_replace(true);
    }
}
