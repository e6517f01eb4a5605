//! The settings of `process-tasks`, and one invocation of it.

use std::num::NonZeroU16;
use std::time::Duration;

use serde::Deserialize;

use super::codel::CodelSettings;
pub use super::rate::RateLimit;
use crate::backoff::Backoff;
use crate::settings::{all, ms, optional_ms, positive, positive_ms, share};
use crate::store::{Candidate, Order};
use crate::task::Retention;
use crate::time::Millis;
use crate::trace::TraceSettings;

/// The settings of `process-tasks`: the JSON of `SETTINGS_PROCESS_TASKS`.
/// `docs/reference/settings.md` has the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSettings {
    /// Time for which a turn takes new tasks.
    #[serde(rename = "turnMs", deserialize_with = "positive_ms")]
    pub turn: Duration,
    /// The longest time of one run.
    #[serde(rename = "taskTimeoutMs", deserialize_with = "positive_ms")]
    pub task_timeout: Duration,
    /// Time before the function's deadline at which every task must be settled or returned.
    #[serde(rename = "deadlineMarginMs", deserialize_with = "ms")]
    pub deadline_margin: Duration,
    /// Maximum number of concurrent tasks within one invocation.
    #[serde(rename = "concurrency", deserialize_with = "positive")]
    pub slots: u16,
    /// The limit on starts per second; `None` for no limit.
    pub rate: Option<RateLimit>,
    /// Attempts before a task is FAILURE.
    #[serde(deserialize_with = "positive")]
    pub max_attempts: u32,
    /// How often a busy downstream may return a task without costing it an attempt.
    pub max_busy_returns: u32,
    /// The circuit breaker; `None` for no breaker.
    pub breaker: Option<BreakerSettings>,
    /// The bound on age under overload; `None` for no bound.
    pub codel: Option<CodelSettings>,
    /// The longest time of a run while the downstream is healthy. Slower runs lower the
    /// concurrency. `None`: the duration of runs has no effect.
    #[serde(rename = "targetLatencyMs", default, deserialize_with = "optional_ms")]
    pub target_latency: Option<Duration>,
    /// The backoff of a task after an attempt.
    #[serde(rename = "retry")]
    pub backoff: Backoff,
    /// Duration of the processor lease: the time for which a crashed processor blocks others.
    #[serde(rename = "processorLeaseMs", deserialize_with = "positive_ms")]
    pub processor_lease: Duration,
    /// Time between two renewals of the processor lease.
    #[serde(rename = "heartbeatMs", deserialize_with = "positive_ms")]
    pub heartbeat: Duration,
    /// The longest time by which the index lags behind the table.
    #[serde(rename = "indexLagMs", deserialize_with = "ms")]
    pub index_lag: Duration,
    /// Turns in a row without a settled task before the tail calls end (rule 10).
    #[serde(deserialize_with = "positive")]
    pub max_idle_turns: u32,
    /// Maximum difference between the clocks of two functions.
    #[serde(rename = "clockSkewMs", deserialize_with = "ms")]
    pub clock_skew: Duration,
    /// How long settled tasks are kept.
    pub retention: Retention,
    /// The expiry of a direct writer's task without `ttl`, from its take.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// The longest time from a task's creation to its expiry, where that is guaranteed; otherwise
    /// `None`. With it, expired tasks cost no reads.
    #[serde(rename = "expiryBoundMs", default, deserialize_with = "optional_ms")]
    pub expiry_bound: Option<Duration>,
    /// The order in which tasks start.
    pub order: Order,
    /// The limits of each group; `None` if the queue has no groups, and does not read them from ids.
    #[serde(default)]
    pub groups: Option<GroupSettings>,
    /// Time for which the start marker of one notification suppresses others (rule 9).
    #[serde(rename = "notificationMarkerMs", deserialize_with = "ms")]
    pub notification_marker: Duration,
    /// Duration of an automatic pause. A pause for a busy downstream may be shorter.
    #[serde(rename = "pauseMs", deserialize_with = "positive_ms")]
    pub pause: Duration,
    /// The share of successful runs that are logged, from 0 to 1, by default 1. Others always are.
    #[serde(default = "all", deserialize_with = "share")]
    pub logged_successes: f64,
    /// Whether to publish the capacity of the downstream, for the admission of the ingest.
    #[serde(default)]
    pub publish_capacity: bool,
    /// The settings of traces; `None` for no traces.
    pub traces: Option<TraceSettings>,
}

impl ProcessSettings {
    /// Duration of a task's lease: enough to run and settle it, with clocks that differ.
    #[must_use]
    pub fn task_lease(&self) -> Duration {
        self.task_timeout + self.deadline_margin + self.clock_skew
    }

    /// When every run of a turn that starts at `now` must have ended: the margin before the
    /// function's deadline. Without a deadline: one task timeout after the end of the turn.
    pub(super) fn hard_stop(&self, now: Millis, deadline: Option<Millis>) -> Millis {
        deadline.map_or(now.plus(self.turn + self.task_timeout), |at| {
            at.minus(self.deadline_margin)
        })
    }

    /// Whether a task must run alone (S4), because its lease expired and it may have crashed its
    /// process. Starts before the third are exempt, because most processes crash for another reason.
    /// The last attempt is never exempt, because only a run alone proves which task is the cause. A
    /// newer state of a key starts with no attempts, and runs alone immediately.
    #[must_use]
    pub fn must_run_alone(&self, task: &Candidate) -> bool {
        let spared = self.max_attempts.saturating_sub(1).min(2);
        task.lease_expired && (task.attempts >= spared || task.attempts == 0)
    }
}

/// The settings of the circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettings {
    /// Time for which the breaker is open before the queue pauses.
    #[serde(rename = "pauseAfterMs", deserialize_with = "positive_ms")]
    pub pause_after: Duration,
    /// How often an open breaker may return a task without counting an attempt, beyond
    /// `max_busy_returns`.
    pub max_returns: u32,
}

/// The limits of each group of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSettings {
    /// Maximum number of concurrent tasks of a group; `None` for no limit.
    #[serde(default)]
    pub max_concurrency: Option<NonZeroU16>,
    /// The limit on a group's starts per second; `None` for no limit.
    #[serde(default)]
    pub rate: Option<RateLimit>,
    /// Whether each group has its own circuit breaker, instead of one for the queue.
    #[serde(default)]
    pub breaker: bool,
}

impl GroupSettings {
    /// Whether a busy response with a time closes only the task's group: groups have limits, or
    /// breakers.
    pub(super) fn close_by_themselves(&self) -> bool {
        self.max_concurrency.is_some() || self.rate.is_some() || self.breaker
    }
}

/// One invocation of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The id of the message that invoked it. It is the same at each of Lambda's retries.
    pub message_id: String,
    /// When Lambda ends it; `None` if unknown.
    pub deadline: Option<Millis>,
}
