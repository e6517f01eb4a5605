//! Decides whether another task may start.

use super::{Turn, TurnEnd};
use crate::process::health::Start;
use crate::process::heartbeat::LeaseState;
use crate::process::slots::Ahead;
use crate::time::Millis;

/// Whether another task may start.
pub(super) enum Gate {
    Open,
    /// A task may be taken that starts as soon as a slot is free.
    Ahead,
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
        let reserved = self.alone.is_reserved(now);
        let goes_on = now < self.last_start && self.runs.has_old(now);
        if now >= self.stop_taking && !reserved && !goes_on {
            return Gate::End(TurnEnd::TimeUp);
        }
        if !self.limit(now) {
            // The heartbeat renews immediately, which wakes the turn.
            return Gate::Wait(Millis::MAX);
        }
        let (unsettled, held) = (self.runs.len(), self.runs.held());
        let (start, is_open, ahead) = {
            let mut downstream = self.downstream.lock();
            let health = downstream.queue();
            self.heartbeat.command(health, now);
            let ahead = health.limit_of_ahead().filter(|limit| held >= *limit);
            (
                health.start(held, now),
                health.open_breaker().is_some(),
                ahead,
            )
        };
        let settling = unsettled.saturating_sub(held);
        let is_behind = settling > usize::from(self.processor.settings.slots);
        if self.runs.is_alone() || (reserved && unsettled > 0) || is_behind {
            return Gate::Wait(Millis::MAX);
        }
        if is_open {
            // An outage ends the overload, because it ages every task regardless of the load.
            self.codel.lift(now);
        }
        let gate = match start {
            Start::Wait(until) => {
                let ahead = ahead.filter(|_| !reserved && now < self.stop_taking);
                return self.ahead(ahead, until, now);
            }
            Start::Probe => Gate::Probe,
            Start::Any if reserved => Gate::Alone,
            Start::Any => Gate::Open,
        };
        self.nothing_ahead = false;
        match self.rate.grant(now) {
            Ok(()) => gate,
            Err(again) => Gate::Wait(again),
        }
    }

    /// Takes a task or reads a page ahead, while at least `limit` slots are held. A queue with groups
    /// or a rate limit takes none, because the task could wait for more than a slot.
    fn ahead(&mut self, limit: Option<usize>, until: Millis, now: Millis) -> Gate {
        let is_plain = self.limits.rate.is_none() && self.processor.settings.groups.is_none();
        let limit = limit.filter(|_| is_plain && !self.nothing_ahead);
        match limit.map_or(Ahead::Nothing, |limit| self.runs.ahead(limit)) {
            Ahead::Take => Gate::Ahead,
            Ahead::Read => Gate::Wait(self.refresh(until, now)),
            Ahead::In(left) => Gate::Wait(until.min(now.plus(left))),
            Ahead::Nothing => Gate::Wait(until),
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
