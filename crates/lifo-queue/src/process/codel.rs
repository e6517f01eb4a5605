//! Bounded age under overload, after Facebook's CoDel variant for servers
//! (Ben Maurer, "Fail at Scale", 2015).
//!
//! A task is *new* until it is twice the target old. The queue is overloaded when every look for
//! one interval found a new task that is due. From then on the index is read only as far back as
//! new tasks are, so an old backlog costs neither reads nor writes; its tasks expire as ever. The
//! overload is over when, for one target, no look found the slots full or a new task left. A
//! processor rests only afterwards, when it has read the whole index: the wake-up protocol
//! does not know of the overload.

use std::time::Duration;

use serde::Deserialize;
use tokio::sync::watch;

use crate::settings::positive_ms;
use crate::time::Millis;

/// How old tasks may become under overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CodelSettings {
    /// Under overload a task starts within twice this time, or waits until the overload is over.
    #[serde(rename = "targetMs", deserialize_with = "positive_ms")]
    pub target: Duration,
    /// For how long new tasks must have been waiting before the queue is overloaded.
    #[serde(rename = "intervalMs", deserialize_with = "positive_ms")]
    pub interval: Duration,
}

impl CodelSettings {
    /// How old a new task is at most.
    #[must_use]
    pub fn reach(&self) -> Duration {
        2 * self.target
    }
}

/// Whether the queue is overloaded, as the turn's loop sees it.
pub(super) struct Codel {
    settings: Option<CodelSettings>,
    /// When the last look found no new task that is due.
    caught_up: Millis,
    /// Since when the queue has been overloaded. The heartbeat reads it.
    since: watch::Sender<Option<Millis>>,
    /// Since when this turn has found the queue overloaded.
    counted_from: Millis,
    /// How long the queue was overloaded in this turn, up to `counted_from`.
    counted: Duration,
    /// Since when no look found the slots full.
    spare_since: Option<Millis>,
}

impl Codel {
    /// As the turn before left it: overloaded since `left`, or not.
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

    /// Since when the queue has been overloaded.
    pub(super) fn since(&self) -> Option<Millis> {
        *self.since.borrow()
    }

    /// The same, for the heartbeat.
    pub(super) fn watch(&self) -> watch::Receiver<Option<Millis>> {
        self.since.subscribe()
    }

    /// How far back to read the index; `None` for all of it.
    pub(super) fn reach(&self) -> Option<Duration> {
        let settings = self.settings.filter(|_| self.since().is_some());
        settings.map(|settings| settings.reach())
    }

    /// How long the queue was overloaded in this turn.
    pub(super) fn overloaded_for(&self, now: Millis) -> Duration {
        let open = self.since().map(|_| now.since(self.counted_from));
        self.counted + open.unwrap_or_default()
    }

    /// The newest due task was created at this moment.
    pub(super) fn found(&mut self, created: Millis, now: Millis) {
        let Some(settings) = self.settings else {
            return;
        };
        if created < now.minus(settings.reach()) {
            self.caught_up = now;
        } else if self.since().is_none() && now.since(self.caught_up) >= settings.interval {
            tracing::warn!("overloaded: only new tasks start");
            self.counted_from = now;
            self.spare_since = None;
            self.since.send_replace(Some(now));
        }
    }

    /// A free slot found no due task in what it read; whether older ones may be hidden from it.
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
        // What was read until now did not show the whole index.
        true
    }

    /// Nothing may start at the moment.
    pub(super) fn no_slot(&mut self) {
        self.spare_since = None;
    }

    /// The queue is not overloaded, or what it is cannot be known.
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
