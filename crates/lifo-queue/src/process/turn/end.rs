//! The end of a turn: its last runs, and the state for the next one.

use super::{OLD_RUN, Turn};
use crate::control::Carried;
use crate::process::finish::{Stopped, TurnEnd};
use crate::process::heartbeat::LeaseState;
use crate::time::Millis;

impl Turn<'_> {
    /// Waits for the runs to end. At the hard stop, returns the tasks that are still running. If
    /// the turn could still start tasks, waits only for [`OLD_RUN`], and returns whether all runs
    /// have ended. If not, tasks must go on to start.
    pub(in crate::process) async fn drain(&mut self, end: &TurnEnd) -> bool {
        let began = self.now();
        self.runs.set_closed(true);
        while !self.runs.is_empty() {
            let now = self.now();
            let may_go_on = matches!(end, TurnEnd::TimeUp) && self.may_go_on(now);
            if may_go_on && now >= began.plus(OLD_RUN) {
                return false;
            }
            let until = match may_go_on {
                true => self.last_start.min(began.plus(OLD_RUN)),
                false => self.hard_stop,
            };
            tokio::select! {
                biased;
                Some(ended) = self.runs.next_end() => self.record(ended),
                () = tokio::time::sleep(until.since(now)), if !self.runs.is_cut_off() => {
                    if !may_go_on {
                        self.runs.cut_off();
                    }
                }
            }
        }
        true
    }

    /// Whether the turn may start tasks after its regular end.
    fn may_go_on(&self, now: Millis) -> bool {
        now < self.last_start && self.heartbeat.lease(now) == LeaseState::Ours
    }

    /// Stops the heartbeat and returns the state needed to finish the turn.
    pub(in crate::process) async fn stop(mut self) -> Stopped {
        let unsaved = self.unsaved_groups(self.now());
        let carried = self.carried();
        self.heartbeat.stop().await;
        self.summary.queries = self.reads.queries;
        self.summary.breaker_open = carried.breaker.is_some();
        self.summary.limit = self.downstream.lock().queue().shown_limit();
        self.summary.cause = carried.health.cause;
        let now = self.processor.clock.now();
        let overloaded = self.codel.overloaded_for(now);
        self.summary.overloaded_ms = u64::try_from(overloaded.as_millis()).unwrap_or(u64::MAX);
        Stopped {
            unsaved,
            carried,
            owner: self.owner,
            summary: self.summary,
            returned: self.returned,
            rate: self.rate,
        }
    }

    /// The state for the next processor.
    pub(super) fn carried(&self) -> Carried {
        Carried {
            overloaded_since: self.codel.since(),
            observed: self.observations.observed(),
            rate_full_at: self.rate.full_at(),
            ..self.downstream.lock().carried()
        }
    }
}
