//! Bounded age under overload, after Facebook's CoDel variant for servers
//! (Ben Maurer, "Fail at Scale", 2015).
//!
//! A task is *new* until its age is twice the target. The queue is overloaded once new tasks have
//! been due throughout one interval. From then on, index reads cover only new tasks, so an old
//! backlog costs neither reads nor writes. The backlog expires as usual. The overload ends once
//! slots have been free and no new task has been due for the target time. Before that, no processor
//! considers the queue empty, because the wake-up protocol ignores the overload.

use std::time::Duration;

use serde::Deserialize;
use tokio::sync::watch;

use crate::settings::positive_ms;
use crate::time::Millis;

/// Settings that limit the age of tasks under overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CodelSettings {
    /// Half of the maximum age. Under overload, a task starts within twice this time after its
    /// creation or not until the overload ends.
    #[serde(rename = "targetMs", deserialize_with = "positive_ms")]
    pub target: Duration,
    /// Time for which new tasks must have been due before the queue counts as overloaded.
    #[serde(rename = "intervalMs", deserialize_with = "positive_ms")]
    pub interval: Duration,
}

impl CodelSettings {
    /// Maximum age of a new task: twice the target.
    #[must_use]
    pub fn reach(&self) -> Duration {
        2 * self.target
    }
}

/// Overload state of a turn.
pub(super) struct Codel {
    settings: Option<CodelSettings>,
    /// Time at which the turn last found that no new task was due.
    caught_up: Millis,
    /// Start of the overload, read by the heartbeat; `None` without overload.
    since: watch::Sender<Option<Millis>>,
    /// Time from which the current overload counts toward this turn's total.
    counted_from: Millis,
    /// Total duration of the earlier overloads in this turn.
    counted: Duration,
    /// Time of the first poll by a free slot without a due task since all slots were last occupied.
    spare_since: Option<Millis>,
}

impl Codel {
    /// Resumes the state from the end of the previous turn: overloaded since `left`, or not at all.
    pub(super) fn new(settings: Option<CodelSettings>, left: Option<Millis>, now: Millis) -> Self {
        Self {
            settings,
            caught_up: now,
            since: watch::Sender::new(settings.and(left)),
            counted_from: now,
            counted: Duration::ZERO,
            spare_since: None,
        }
    }

    /// Start of the overload; `None` without overload.
    pub(super) fn since(&self) -> Option<Millis> {
        *self.since.borrow()
    }

    /// A receiver for the start of the overload, used by the heartbeat.
    pub(super) fn watch(&self) -> watch::Receiver<Option<Millis>> {
        self.since.subscribe()
    }

    /// Maximum age of tasks to read from the index; `None` for the whole index.
    pub(super) fn reach(&self) -> Option<Duration> {
        let settings = self.settings.filter(|_| self.since().is_some());
        settings.map(|settings| settings.reach())
    }

    /// Time for which the queue was overloaded in this turn.
    pub(super) fn overloaded_for(&self, now: Millis) -> Duration {
        let open = self.since().map(|_| now.since(self.counted_from));
        self.counted + open.unwrap_or_default()
    }

    /// Records that the newest due task was created at `created`. The overload begins if new tasks
    /// have been due for one interval. Returns whether it begins now.
    pub(super) fn found(&mut self, created: Millis, now: Millis) -> bool {
        let Some(settings) = self.settings else {
            return false;
        };
        if created < now.minus(settings.reach()) {
            self.caught_up = now;
            return false;
        }
        let begins = self.since().is_none() && now.since(self.caught_up) >= settings.interval;
        if begins {
            tracing::warn!("overloaded: only new tasks start");
            self.counted_from = now;
            self.spare_since = None;
            self.since.send_replace(Some(now));
        }
        begins
    }

    /// Records that a free slot found no due task. Returns whether the reads may have missed some.
    pub(super) fn found_nothing(&mut self, now: Millis) -> bool {
        let (Some(settings), Some(_)) = (self.settings, self.since()) else {
            self.caught_up = now;
            return false;
        };
        let spare_since = *self.spare_since.get_or_insert(now);
        if now.since(spare_since) < settings.target {
            return true;
        }
        self.lift(now);
        // The reads so far did not cover the whole index.
        true
    }

    /// Records that no task can start at the moment.
    pub(super) fn no_slot(&mut self) {
        self.spare_since = None;
    }

    /// Ends the overload and restarts the interval.
    pub(super) fn lift(&mut self, now: Millis) {
        self.caught_up = now;
        self.counted = self.overloaded_for(now);
        self.spare_since = None;
        if self.since.send_replace(None).is_some() {
            tracing::info!("no longer overloaded: every task may start");
        }
    }
}

#[cfg(test)]
mod tests;
