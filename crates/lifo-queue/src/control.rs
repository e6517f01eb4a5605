//! The control item: who processes, and how many wake-ups were asked for.

use std::time::Duration;

use uuid::Uuid;

use crate::time::{EpochSeconds, Millis};

/// The control item as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Wake-ups requested so far. Only ever grows.
    pub requested: u64,
    /// The processor lease, live or expired.
    pub lease: Option<ProcessorLease>,
    /// No task starts before.
    pub paused_until: Option<Millis>,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// A notification is on its way until.
    pub notified_until: Option<Millis>,
    /// The event that sent it.
    pub notified_by: Option<String>,
    /// Consecutive turns that settled nothing.
    pub idle_turns: u32,
    /// Consecutive pauses by processors themselves, because the downstream was busy or rejected
    /// tasks: the next turn starts with one slot.
    pub busy_pauses: u32,
    /// When the rate limit's bucket is full again.
    pub rate_full_at: Option<Millis>,
    /// Tasks that were redriven, for the bound on the index's sort key.
    pub redriven: Option<RedrivenTasks>,
    /// The circuit breaker, while it is open.
    pub breaker: Option<OpenBreaker>,
    /// What operators commanded the circuit breaker to do.
    pub breaker_by_hand: BreakerByHand,
    /// Since when the queue has been overloaded, as the processor last wrote it.
    pub overloaded_since: Option<Millis>,
}

/// What operators commanded the circuit breaker to do, whatever processors wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerByHand {
    /// Commands so far. A processor that finds another count obeys the last command.
    pub commands: u64,
    /// The last command, if it was to open: until when no answer closes the breaker, and why.
    pub hold: Option<BreakerHold>,
}

/// A circuit breaker that an operator holds open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerHold {
    /// No answer closes it before.
    pub until: Millis,
    /// Why, for operators.
    pub reason: String,
}

/// An open circuit breaker, as it was when the processor last renewed or released its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBreaker {
    /// Since when it has been open.
    pub since: Millis,
    /// Probes that failed since then.
    pub probes: u32,
}

/// Redriven tasks keep their `taskCreated`, so the bound on the index's sort key must not hide
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedrivenTasks {
    /// `taskCreated` of the oldest.
    pub oldest: Millis,
    /// When the last of them expires.
    pub until: EpochSeconds,
}

/// Who processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorLease {
    /// One invocation attempt.
    pub owner: Uuid,
    /// The message that invoked it.
    pub message_id: String,
    /// When it expires unless renewed.
    pub until: Millis,
}

impl Control {
    /// The lease, if it has not expired.
    #[must_use]
    pub fn live_lease(&self, now: Millis) -> Option<&ProcessorLease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }

    /// Whether a pause forbids starts now.
    #[must_use]
    pub fn is_paused(&self, now: Millis) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    /// The hold of an operator on the circuit breaker, if its time is not over.
    #[must_use]
    pub fn held_breaker(&self, now: Millis) -> Option<&BreakerHold> {
        let hold = self.breaker_by_hand.hold.as_ref();
        hold.filter(|hold| hold.until > now)
    }

    /// Whether an event other than `event` is about to notify.
    #[must_use]
    pub fn is_notified_by_other(&self, event: &str, now: Millis) -> bool {
        self.notified_until.is_some_and(|until| until > now)
            && self.notified_by.as_deref() != Some(event)
    }

    /// Where the reads of the index end: the [bound](Self::created_bound) with a margin for clocks
    /// that differ, and a second, because `ttl` is in whole ones. `None` where no longest expiry
    /// is promised.
    #[must_use]
    pub fn created_from(
        &self,
        longest_expiry: Option<Duration>,
        clock_skew: Duration,
        now: Millis,
    ) -> Option<Millis> {
        let bound = longest_expiry? + clock_skew + Duration::from_secs(1);
        Some(self.created_bound(bound, now))
    }

    /// Where the reads of the index end while the queue is overloaded: tasks created earlier do
    /// not start, redriven ones excepted.
    #[must_use]
    pub fn newest_from(&self, reach: Option<Duration>, now: Millis) -> Option<Millis> {
        let reach = reach.filter(|_| self.overloaded_since.is_some())?;
        Some(self.created_bound(reach, now))
    }

    /// The lower bound on `taskCreated` below which every task has expired, where no task
    /// outlives its creation by more than `longest_expiry`: never above a redriven task that
    /// may still be PENDING.
    #[must_use]
    pub fn created_bound(&self, longest_expiry: Duration, now: Millis) -> Millis {
        let bound = now.minus(longest_expiry);
        match self.redriven {
            Some(redriven) if redriven.until.millis() > now => bound.min(redriven.oldest),
            _ => bound,
        }
    }
}

/// A wish for the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Fresh for each invocation attempt; never the request's or the message's id, since a
    /// duplicate of the message would then own the lease too.
    pub owner: Uuid,
    /// The message that invoked this attempt.
    pub message_id: String,
    /// Until when.
    pub until: Millis,
    /// Until this claim's holder says better, when the rate limit's bucket is full again:
    /// what it may grant at most, so that one that dies leaves no full bucket behind.
    pub rate_full_at: Option<Millis>,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value a turn, moved once")]
pub enum Acquired {
    /// The lease is ours; the item as it was just before, but for the lease itself.
    Ours(Control),
    /// Another's lease is live.
    Held(ProcessorLease),
    /// The queue is paused until then.
    Paused(Millis),
}

/// A wish to keep the processor lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Whose lease.
    pub owner: Uuid,
    /// Until when.
    pub until: Millis,
    /// The circuit breaker as it is now; `None` while it is closed.
    pub breaker: Option<OpenBreaker>,
    /// Since when the queue has been overloaded; `None` if it is not.
    pub overloaded_since: Option<Millis>,
}

/// The answer to a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one value a renewal or release, moved once"
)]
pub enum Renewed {
    /// The lease is still ours; the item as it is now.
    Ours(Control),
    /// The lease is another's, or free.
    Lost,
}

/// A wish to give the processor lease up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Whose lease.
    pub owner: Uuid,
    /// Only if no wake-up was requested since this count (rule 5); `None` at the end of a
    /// turn, when a tail call follows whatever was requested (rule 6).
    pub if_requested_is: Option<u64>,
    /// What the turn does to the count of turns that settled nothing.
    pub idle_turns: IdleTurns,
    /// Whether the turn ended otherwise than by a pause: the next turn starts with every slot.
    pub recovered: bool,
    /// When the rate limit's bucket is full again; `None` without a limit.
    pub rate_full_at: Option<Millis>,
    /// The circuit breaker as the turn leaves it; `None` if it is closed.
    pub breaker: Option<OpenBreaker>,
    /// Since when the queue has been overloaded; `None` if it is not.
    pub overloaded_since: Option<Millis>,
}

/// Rule 10's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTurns {
    /// The turn settled a task, or found the queue empty: back to zero.
    Reset,
    /// The turn ran tasks and settled none, though work remains: one more.
    Add,
    /// The turn ran nothing, because the rate limit allowed no start: as it was.
    Keep,
}

/// The answer to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one value a renewal or release, moved once"
)]
pub enum Released {
    /// The lease is released.
    Done {
        /// Consecutive turns that settled nothing, this one included.
        idle_turns: u32,
    },
    /// Still ours: a wake-up was requested in the meantime. The item as it is now.
    Requested(Control),
    /// The lease is another's, or free.
    NotOurs,
}

/// A pause to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Until when.
    pub until: Millis,
    /// Why, for operators.
    pub reason: String,
    /// Whether a processor pauses the queue by itself, because the downstream is busy or rejects
    /// tasks: the next turn then starts with one slot, and the next pause for a busy downstream
    /// is longer.
    pub busy: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_end_below_everything_that_may_still_start() {
        let from = |expiry| {
            let skew = Duration::from_secs(2);
            Control::default().created_from(expiry, skew, Millis(100_000))
        };
        assert_eq!(from(None), None);
        // The expiry, the clocks' difference, and a second for `ttl`'s whole ones.
        assert_eq!(from(Some(Duration::from_secs(60))), Some(Millis(37_000)));
    }
}
