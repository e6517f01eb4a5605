//! The control item: the processor lease, the number of requested wake-ups, and queue state that
//! outlives a turn.

mod groups;
mod health;
mod limit;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::groups::{
    GroupChange, GroupChanged, GroupOverride, GroupPause, GroupStates, LearnedGroup, LearnedGroups,
    MAX_OVERRIDES,
};
pub use self::health::{Carried, Cause, Health, OpenBreaker};
pub use self::limit::{OperatorLimit, OperatorLimits, OperatorRate};

use crate::observed::Observed;
use crate::time::{EpochSeconds, Millis};

/// The control item as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Number of wake-ups requested so far. Never decreases.
    pub requested: u64,
    /// The processor lease, live or expired.
    pub lease: Option<ProcessorLease>,
    /// End of the pause. No task starts before then.
    pub paused_until: Option<Millis>,
    /// Reason for the pause.
    pub pause_reason: Option<String>,
    /// Author and start time of the pause; `None` if an older version paused the queue.
    pub paused_by: Option<Author>,
    /// Expiry of the start marker (rule 9); until then a notification is assumed to be in flight.
    pub notified_until: Option<Millis>,
    /// Id of the event that set the start marker.
    pub notified_by: Option<String>,
    /// Consecutive turns that settled no task (rule 10).
    pub idle_turns: u32,
    /// Time at which the rate limit's bucket is full again.
    pub rate_full_at: Option<Millis>,
    /// Redriven tasks. They lower the minimum sort key of index reads.
    pub redriven: Option<RedrivenTasks>,
    /// The circuit breaker, while it is open.
    pub breaker: Option<OpenBreaker>,
    /// Other facts about the downstream, for the next processor and for operators.
    pub health: Health,
    /// Operators' commands to the circuit breaker.
    pub breaker_by_hand: BreakerByHand,
    /// Operators' limits on starts, active or ended.
    pub limits: OperatorLimits,
    /// Start of the overload, as last written by a processor; `None` without overload.
    pub overloaded_since: Option<Millis>,
    /// Observations by processors.
    pub observed: Observed,
}

/// The author and start time of a pause or a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The principal of the operator.
    pub name: String,
    /// Time at which the author paused or limited the queue.
    pub at: Millis,
}

/// Operators' commands to the circuit breaker. Processors do not change them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerByHand {
    /// Number of commands so far. A processor that reads a new number executes the most recent command.
    pub commands: u64,
    /// The most recent command, if it opened the breaker.
    pub hold: Option<BreakerHold>,
}

/// A circuit breaker that an operator holds open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerHold {
    /// Time before which no result closes the breaker.
    pub until: Millis,
    /// The reason, for operators.
    pub reason: String,
}

/// The redriven tasks. Because they keep their `taskCreated`, the minimum sort key of index reads
/// must not exclude them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedrivenTasks {
    /// `taskCreated` of the oldest redriven task.
    pub oldest: Millis,
    /// Time at which the last redriven task expires.
    pub until: EpochSeconds,
}

/// The lease that makes a process the active processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorLease {
    /// Id of the invocation attempt that acquired the lease.
    pub owner: Uuid,
    /// Id of the message that invoked this attempt.
    pub message_id: String,
    /// Time at which the lease expires unless it is renewed.
    pub until: Millis,
}

impl Control {
    /// The lease, if it has not expired.
    #[must_use]
    pub fn live_lease(&self, now: Millis) -> Option<&ProcessorLease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }

    /// Whether the queue is paused now.
    #[must_use]
    pub fn is_paused(&self, now: Millis) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    /// The operator's hold on the circuit breaker, if it has not ended.
    #[must_use]
    pub fn held_breaker(&self, now: Millis) -> Option<&BreakerHold> {
        let hold = self.breaker_by_hand.hold.as_ref();
        hold.filter(|hold| hold.until > now)
    }

    /// Whether only probes start.
    #[must_use]
    pub fn is_breaker_open(&self, now: Millis) -> bool {
        self.breaker.is_some() || self.held_breaker(now).is_some()
    }

    /// The operator's limit on the queue, if it has not ended.
    #[must_use]
    pub fn limit(&self, now: Millis) -> Option<&OperatorLimit> {
        let limit = self.limits.queue.as_ref();
        limit.filter(|limit| limit.until > now)
    }

    /// The downstream's capacity, in runs per second. `None` if it is unknown because a slot is
    /// free or no processor measured it recently. During a pause, the last measurement stays valid.
    #[must_use]
    pub fn capacity(&self, now: Millis) -> Option<f64> {
        let capacity = self.observed.capacity?;
        let counts = capacity.is_recent(now) || self.is_paused(now);
        counts.then(|| capacity.per_second())
    }

    /// State that the previous processor left.
    #[must_use]
    pub fn carried(&self) -> Carried {
        Carried {
            breaker: self.breaker,
            health: self.health,
            overloaded_since: self.overloaded_since,
            observed: self.observed.clone(),
            rate_full_at: self.rate_full_at,
        }
    }

    /// Whether an event other than `event` set the start marker and the marker has not expired.
    #[must_use]
    pub fn is_notified_by_other(&self, event: &str, now: Millis) -> bool {
        self.notified_until.is_some_and(|until| until > now)
            && self.notified_by.as_deref() != Some(event)
    }

    /// Minimum `taskCreated` that index reads return: the [bound](Self::created_bound) minus
    /// `clock_skew`, and minus one more second because `ttl` is in whole seconds. `None` without a
    /// longest expiry.
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

    /// Minimum `taskCreated` that index reads return under overload. Older tasks do not start,
    /// except redriven ones. `None` without overload or `reach`.
    #[must_use]
    pub fn newest_from(&self, reach: Option<Duration>, now: Millis) -> Option<Millis> {
        let reach = reach.filter(|_| self.overloaded_since.is_some())?;
        Some(self.created_bound(reach, now))
    }

    /// Lower bound on `taskCreated`. If no task expires later than `longest_expiry` after its
    /// creation, every task created before the bound has expired. The bound never exceeds the
    /// `taskCreated` of a redriven task that may still be PENDING.
    #[must_use]
    pub fn created_bound(&self, longest_expiry: Duration, now: Millis) -> Millis {
        let bound = now.minus(longest_expiry);
        match self.redriven {
            Some(redriven) if redriven.until.millis() > now => bound.min(redriven.oldest),
            _ => bound,
        }
    }
}

/// A request for the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// A new id per invocation attempt. It must not be the request id or message id, because a
    /// duplicate message would then own the lease too.
    pub owner: Uuid,
    /// Id of the message that invoked this attempt.
    pub message_id: String,
    /// Time at which the lease expires.
    pub until: Millis,
    /// Time at which the rate limit's bucket is full again if this turn grants all permitted
    /// starts, so that a crashed turn doesn't leave a full bucket. The release replaces this time.
    /// `None` without a limit.
    pub rate_full_at: Option<Millis>,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value a turn, moved once")]
pub enum Acquired {
    /// The caller acquired the lease. Contains the item from before the claim; ignore its `lease`.
    Ours(Control),
    /// Another processor has a live lease.
    Held(ProcessorLease),
    /// The queue is paused until this time.
    Paused(Millis),
}

/// A request to extend the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Owner of the lease.
    pub owner: Uuid,
    /// New expiry of the lease.
    pub until: Millis,
    /// State for the next processor.
    pub carried: Carried,
}

/// The result of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "each renewal or release creates only one value and moves it once"
)]
pub enum Renewed {
    /// The lease was extended. Contains the updated control item.
    Ours(Control),
    /// Another processor owns the lease, or the lease is free.
    Lost,
}

/// A request to release the processor lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Owner of the lease.
    pub owner: Uuid,
    /// Releases the lease only if the number of requested wake-ups still equals this value (rule
    /// 5). `None` releases it regardless of the number, for example before a tail call (rule 6).
    pub if_requested_is: Option<u64>,
    /// Change to the number of idle turns.
    pub idle_turns: IdleTurns,
    /// State for the next processor.
    pub carried: Carried,
}

/// Change to the number of consecutive turns that settled no task (rule 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTurns {
    /// Resets the number to 0, because the turn settled a task or found the queue empty.
    Reset,
    /// Adds 1, because the turn neither settled a task nor found the queue empty.
    Add,
    /// Leaves the number unchanged, because the rate limit allowed no start in the turn.
    Keep,
}

/// The result of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "each renewal or release creates only one value and moves it once"
)]
pub enum Released {
    /// The lease was released.
    Done {
        /// Consecutive turns that settled no task, including this one.
        idle_turns: u32,
    },
    /// The lease was not released because another wake-up was requested. Contains the current
    /// control item.
    Requested(Control),
    /// Another processor owns the lease, or the lease is free.
    NotOurs,
}

/// A pause to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// End of the pause.
    pub until: Millis,
    /// The reason, for operators.
    pub reason: String,
    /// The author, for operators.
    pub by: Option<Author>,
}

#[cfg(test)]
mod tests;
