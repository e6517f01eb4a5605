//! The settings and the invocation of `process-tasks`.

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

/// The settings of `process-tasks`, from the JSON in the environment variable
/// `SETTINGS_PROCESS_TASKS`. `docs/reference/settings.md` lists the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSettings {
    /// Time for which a turn takes new tasks.
    #[serde(rename = "turnMs", deserialize_with = "positive_ms")]
    pub turn: Duration,
    /// Maximum duration of a run.
    #[serde(rename = "taskTimeoutMs", deserialize_with = "positive_ms")]
    pub task_timeout: Duration,
    /// Time before the function's deadline by which every task must be settled or returned.
    #[serde(rename = "deadlineMarginMs", deserialize_with = "ms")]
    pub deadline_margin: Duration,
    /// Maximum number of concurrent tasks within one invocation.
    #[serde(rename = "concurrency", deserialize_with = "positive")]
    pub slots: u16,
    /// The limit on starts per second; `None` for no limit.
    pub rate: Option<RateLimit>,
    /// Maximum number of attempts before a task ends as FAILURE.
    #[serde(deserialize_with = "positive")]
    pub max_attempts: u32,
    /// Maximum number of returns per task due to a busy downstream that don't count as attempts.
    pub max_busy_returns: u32,
    /// The circuit breaker; `None` for no breaker.
    pub breaker: Option<BreakerSettings>,
    /// The bound on age under overload; `None` for no bound.
    pub codel: Option<CodelSettings>,
    /// Maximum duration of a run while the downstream is healthy. Slower runs lower the
    /// concurrency. `None` if the run duration has no effect.
    #[serde(rename = "targetLatencyMs", default, deserialize_with = "optional_ms")]
    pub target_latency: Option<Duration>,
    /// The backoff of a task after an attempt.
    #[serde(rename = "retry")]
    pub backoff: Backoff,
    /// Duration of the processor lease, during which a crashed processor blocks others.
    #[serde(rename = "processorLeaseMs", deserialize_with = "positive_ms")]
    pub processor_lease: Duration,
    /// Time between two renewals of the processor lease.
    #[serde(rename = "heartbeatMs", deserialize_with = "positive_ms")]
    pub heartbeat: Duration,
    /// Maximum time by which the index lags behind the table.
    #[serde(rename = "indexLagMs", deserialize_with = "ms")]
    pub index_lag: Duration,
    /// Number of consecutive turns without a settled task after which tail calls stop (rule 10).
    #[serde(deserialize_with = "positive")]
    pub max_idle_turns: u32,
    /// Maximum difference between the clocks of two functions.
    #[serde(rename = "clockSkewMs", deserialize_with = "ms")]
    pub clock_skew: Duration,
    /// How long settled tasks are kept.
    pub retention: Retention,
    /// Time from the take to the expiry of a direct writer's task without `ttl`.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// Maximum time from a task's creation to its expiry; `None` if no maximum is guaranteed. With
    /// this bound, expired tasks cost no reads.
    #[serde(rename = "expiryBoundMs", default, deserialize_with = "optional_ms")]
    pub expiry_bound: Option<Duration>,
    /// The order in which tasks start.
    pub order: Order,
    /// The limits per group; `None` if the queue has no groups and ignores group prefixes in ids.
    #[serde(default)]
    pub groups: Option<GroupSettings>,
    /// Time for which the start marker of one notification suppresses other notifications (rule 9).
    #[serde(rename = "notificationMarkerMs", deserialize_with = "ms")]
    pub notification_marker: Duration,
    /// A setting of the previous release, without effect.
    #[serde(rename = "pauseMs", deserialize_with = "positive_ms")]
    pub former_pause: Duration,
    /// Share of successful runs that are logged, from 0 to 1; default 1. Other runs are always logged.
    #[serde(default = "all", deserialize_with = "share")]
    pub logged_successes: f64,
    /// Whether to publish the downstream's capacity, for ingest admission.
    #[serde(default)]
    pub publish_capacity: bool,
    /// Trace settings; `None` for no traces.
    pub traces: Option<TraceSettings>,
}

impl ProcessSettings {
    /// Duration of a task's lease: enough to run and settle the task despite clock skew.
    #[must_use]
    pub fn task_lease(&self) -> Duration {
        self.task_timeout + self.deadline_margin + self.clock_skew
    }

    /// Time at which every run of a turn that starts at `now` must have ended: the function's
    /// deadline minus the margin. Without a deadline, a turn may last twice as long as usual.
    pub(super) fn hard_stop(&self, now: Millis, deadline: Option<Millis>) -> Millis {
        deadline.map_or(now.plus(2 * self.turn + self.task_timeout), |at| {
            at.minus(self.deadline_margin)
        })
    }

    /// Whether a task must run alone (S4) because its lease expired, so that it may have crashed
    /// its process. The first two attempts are exempt, because most crashes have another cause. The
    /// last attempt is never exempt, because only running alone proves that a task is the cause. A
    /// newer state of a key starts with zero attempts, so it runs alone regardless.
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
    /// A setting of the previous release, without effect.
    #[serde(rename = "pauseAfterMs", deserialize_with = "positive_ms")]
    pub former_pause_after: Duration,
    /// Maximum number of returns per task after runs without a result that don't count as attempts,
    /// in addition to `max_busy_returns`.
    pub max_returns: u32,
}

/// The limits per group of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSettings {
    /// Maximum number of concurrent tasks of a group; `None` for no limit.
    #[serde(default)]
    pub max_concurrency: Option<NonZeroU16>,
    /// The limit on a group's starts per second; `None` for no limit.
    #[serde(default)]
    pub rate: Option<RateLimit>,
    /// Whether each group has its own circuit breaker instead of one for the queue.
    #[serde(default)]
    pub breaker: bool,
}

impl GroupSettings {
    /// Whether a busy response that requests a wait closes only the task's group, because groups
    /// have limits or breakers.
    pub(super) fn close_by_themselves(&self) -> bool {
        self.max_concurrency.is_some() || self.rate.is_some() || self.breaker
    }
}

/// One invocation of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Id of the message that caused the invocation. Lambda's retries have the same message id.
    pub message_id: String,
    /// Time at which Lambda ends the invocation; `None` if unknown.
    pub deadline: Option<Millis>,
}
