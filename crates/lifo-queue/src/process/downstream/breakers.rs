//! The ledgers of individual groups, in a queue with one circuit breaker per group.
//!
//! A run changes only its group's ledger. If that ledger requires a pause, the group is closed
//! instead of pausing the queue. A ledger at rest is removed, so only groups with running tasks or
//! problems have a ledger.

use std::collections::BTreeMap;

use super::{Ledger, Ruling, Run, Signal, Start};
use crate::control::{Control, OpenBreaker, Pause};
use crate::process::settings::ProcessSettings;
use crate::task::TaskId;
use crate::time::Millis;

/// The ledgers of a turn, by group name.
#[derive(Debug)]
pub(super) struct GroupBreakers {
    settings: ProcessSettings,
    ledgers: BTreeMap<String, Ledger>,
    last_start: Millis,
}

impl GroupBreakers {
    /// Creates the ledgers for a turn that starts at `now`, with the breakers that were left open.
    pub(super) fn new<'a>(
        settings: &ProcessSettings,
        left: impl Iterator<Item = (&'a str, OpenBreaker)>,
        last_start: Millis,
        now: Millis,
    ) -> Self {
        let ledger = |(name, open): (&str, _)| {
            let ledger = ledger(settings, Some(open), 0, last_start, now);
            (name.to_owned(), ledger)
        };
        Self {
            settings: *settings,
            ledgers: left.map(ledger).collect(),
            last_start,
        }
    }

    /// The ledger of the task's group.
    pub(super) fn of(&mut self, task: &TaskId) -> &mut Ledger {
        let Self {
            settings,
            ledgers,
            last_start,
        } = self;
        // The time has no effect, because no breaker is open.
        let new = || ledger(settings, None, 0, *last_start, Millis(0));
        ledgers.entry(task.group().to_owned()).or_insert_with(new)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Ledger> {
        self.ledgers.get(name)
    }

    /// Returns the open breaker of a group; `None` while it is closed.
    pub(super) fn open(&self, name: &str) -> Option<OpenBreaker> {
        self.get(name)?.open_breaker()
    }

    /// Time until which the group can't start a task besides `running` others; `None` if it can.
    pub(super) fn waits_until(&self, name: &str, running: usize, now: Millis) -> Option<Millis> {
        let ledger = self.get(name)?;
        let start = match ledger.start(running, now) {
            // Only the passage of time made the pause due. The next failed probe closes the group.
            Start::Pause(_) => ledger.breaker.start(running, now),
            start => start,
        };
        match start {
            Start::Wait(until) => Some(until),
            _ => None,
        }
    }

    /// Records that a run ended with this signal. `jitter` is a random number from 0 to 1.
    pub(super) fn run_ended(
        &mut self,
        run: &Run,
        task: &TaskId,
        signal: Signal,
        jitter: f64,
    ) -> Ruling {
        let ledger = self.of(task);
        let was_open = ledger.open_breaker().is_some();
        let ruling = ledger.run_ended(run, task, signal, jitter);
        if signal == Signal::Result {
            ledger.busy_pauses = 0;
        }
        let group = task.group();
        match (was_open, ledger.open_breaker().is_some()) {
            (false, true) => tracing::warn!(group, "the circuit breaker of a group opened"),
            (true, false) => tracing::info!(group, "the circuit breaker of a group closed"),
            _ => {}
        }
        ruling
    }

    /// Records that the last running task of the group ended. Returns the group's pause if one is
    /// due. After the pause, the group's ledger starts with one slot.
    pub(super) fn rest(&mut self, name: &str, now: Millis) -> Option<Pause> {
        let there = self.ledgers.get_mut(name)?;
        let Some(pause) = there.pause_due(now) else {
            if there.is_at_rest() {
                self.ledgers.remove(name);
            }
            return None;
        };
        let (until_ms, reason) = (pause.until.0, &pause.reason);
        match there.is_rejecting() {
            false => tracing::warn!(group = name, until_ms, reason, "group closed"),
            true => tracing::error!(group = name, until_ms, reason, "group closed"),
        }
        let pauses = there.busy_pauses + u32::from(pause.busy);
        let open = there.open_breaker();
        *there = ledger(&self.settings, open, pauses, self.last_start, now);
        Some(pause)
    }

    /// Closes every breaker.
    pub(super) fn end_outage(&mut self) {
        self.ledgers.clear();
    }
}

/// Creates a group's ledger at `now`, with the open breaker and the number of pauses for a busy
/// downstream that an earlier ledger left.
fn ledger(
    settings: &ProcessSettings,
    breaker: Option<OpenBreaker>,
    busy_pauses: u32,
    last_start: Millis,
    now: Millis,
) -> Ledger {
    let left = Control {
        breaker,
        busy_pauses,
        ..Control::default()
    };
    let mut ledger = Ledger::new(settings, settings.limits(), &left, last_start, now);
    ledger.breaker.opens_early();
    ledger
}

#[cfg(test)]
mod tests;
