//! Decides whether another task may start.

use super::{Turn, TurnEnd};
use crate::process::health::Start;
use crate::process::heartbeat::LeaseState;
use crate::time::Millis;

/// Whether another task may start.
pub(super) enum Gate {
    Open,
    /// One task may start, as a probe of the downstream.
    Probe,
    /// Only a task that must run alone may start.
    Alone,
    /// Wait until this time or the end of a run, whichever comes first.
    Wait(Millis),
    /// The loop must end.
    End(TurnEnd),
}

impl Turn<'_> {
    pub(super) fn gate(&mut self, now: Millis) -> Gate {
        match self.heartbeat.lease(now) {
            LeaseState::Ours => {}
            LeaseState::Paused => return Gate::End(TurnEnd::Paused),
            LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),
            // Publish a tail call, as when the time is up (rule 6), because possibly no other
            // processor is active.
            LeaseState::Expired => return Gate::End(TurnEnd::TimeUp),
        }
        self.update_groups();
        let kept = self.gap.is_kept(now);
        let goes_on = now < self.last_start && self.has_old_run(now);
        if now >= self.stop_taking && !kept && !goes_on {
            return Gate::End(TurnEnd::TimeUp);
        }
        if !self.limit(now) {
            // The heartbeat renews immediately, which wakes the turn.
            return Gate::Wait(Millis::MAX);
        }
        let running = self.running.len();
        let (start, is_open) = {
            let mut downstream = self.downstream.lock();
            let health = downstream.queue();
            self.heartbeat.command(health, now);
            (health.start(running, now), health.open_breaker().is_some())
        };
        self.alone = self.alone && running > 0;
        if self.alone || (kept && running > 0) {
            return Gate::Wait(Millis::MAX);
        }
        if is_open {
            // An outage ends the overload, because it ages every task regardless of the load.
            self.codel.lift(now);
        }
        let gate = match start {
            Start::Wait(until) => return Gate::Wait(until),
            Start::Probe => Gate::Probe,
            Start::Any if kept => Gate::Alone,
            Start::Any => Gate::Open,
        };
        match self.rate.grant(now) {
            Ok(()) => gate,
            Err(again) => Gate::Wait(again),
        }
    }

    /// Applies the limits in effect. Returns `false` until the table contains their rate.
    fn limit(&mut self, now: Millis) -> bool {
        let setting = self.processor.settings.limits();
        let Some(limits) = self.heartbeat.limits(setting, now) else {
            return false;
        };
        if limits != self.limits {
            self.limits = limits;
            self.rate.change(limits.rate, self.processor.clock.clone());
            self.downstream.lock().queue().change_limits(limits);
        }
        true
    }
}
