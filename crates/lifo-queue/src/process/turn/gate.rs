//! Whether one more task may start.

use super::{Turn, TurnEnd};
use crate::control::Pause;
use crate::process::breaker::Start;
use crate::process::heartbeat::LeaseState;
use crate::time::Millis;

/// Whether one more task may start.
pub(super) enum Gate {
    Open,
    /// One task may start, as a probe of the downstream.
    Probe,
    /// Only a task that must run alone may start.
    Alone,
    /// Wait until this time or the end of a run, whichever is first.
    Wait(Millis),
    /// The loop must end.
    End(TurnEnd),
    Pause(Pause),
}

impl Turn<'_> {
    pub(super) fn gate(&mut self, now: Millis) -> Gate {
        match self.heartbeat.lease(now) {
            LeaseState::Ours => {}
            LeaseState::Paused => return Gate::End(TurnEnd::Paused),
            LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),
            // Possibly no other processor is active: publish a tail call, as when the time is up
            // (rule 6).
            LeaseState::RanOut => return Gate::End(TurnEnd::TimeUp),
        }
        let kept = self.gap.is_kept(now);
        if now >= self.stop_taking && !kept {
            return Gate::End(TurnEnd::TimeUp);
        }
        if let Some(pause) = self.wants_pause(now) {
            return match self.running.is_empty() {
                true => Gate::Pause(pause),
                // A run that is still active may be answered. Then the tasks are the cause, not the
                // downstream.
                false => Gate::Wait(Millis::MAX),
            };
        }
        self.alone = self.alone && !self.running.is_empty();
        if self.alone || (kept && !self.running.is_empty()) {
            return Gate::Wait(Millis::MAX);
        }
        self.heartbeat.command(&self.breaker, now);
        let (start, is_open) = {
            let breaker = self.breaker.lock();
            (
                breaker.start(self.running.len(), now),
                breaker.state().is_some(),
            )
        };
        if is_open {
            // An outage ends the overload, because it ages every task at any load.
            self.codel.lift(now);
        }
        if let Start::Wait(until) = start {
            return Gate::Wait(until);
        }
        if let Some(until) = self.slots.asked_until(now) {
            return Gate::Wait(until);
        }
        // A probe needs no free slot: only one runs at a time.
        if start == Start::Any && !self.slots.is_open(self.running.len(), now) {
            let wake = self.slots.wait_until().filter(|at| *at > now);
            return Gate::Wait(wake.unwrap_or(Millis::MAX));
        }
        match (self.rate.grant(now), start) {
            (Err(again), _) => Gate::Wait(again),
            (Ok(()), Start::Probe) => Gate::Probe,
            (Ok(()), _) if kept => Gate::Alone,
            (Ok(()), _) => Gate::Open,
        }
    }
}
