//! How `process-tasks` works, and what one invocation of it knows.

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

/// How `process-tasks` works: the JSON of `SETTINGS_PROCESS_TASKS`. `docs/reference/settings.md` has the
/// defaults.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSettings {
    /// How long a turn takes tasks.
    #[serde(rename = "turnMs", deserialize_with = "positive_ms")]
    pub turn: Duration,
    /// How long one run may take.
    #[serde(rename = "taskTimeoutMs", deserialize_with = "positive_ms")]
    pub task_timeout: Duration,
    /// How long before the function's deadline every task must be returned.
    #[serde(rename = "deadlineMarginMs", deserialize_with = "ms")]
    pub deadline_margin: Duration,
    /// Tasks that run at once.
    #[serde(rename = "concurrency", deserialize_with = "positive")]
    pub slots: u16,
    /// Starts a second, if they are limited.
    pub rate: Option<RateLimit>,
    /// Attempts before FAILURE.
    #[serde(deserialize_with = "positive")]
    pub max_attempts: u32,
    /// How often a busy downstream costs no attempt.
    pub max_busy_returns: u32,
    /// The circuit breaker; `None` to do without one.
    pub breaker: Option<BreakerSettings>,
    /// The bound on age under overload; `None` to do without one.
    pub codel: Option<CodelSettings>,
    /// How long a run takes at most while the downstream is well; slower ones lower the
    /// concurrency.
    #[serde(rename = "targetLatencyMs", default, deserialize_with = "optional_ms")]
    pub target_latency: Option<Duration>,
    /// How long a task waits after an attempt.
    #[serde(rename = "retry")]
    pub backoff: Backoff,
    /// The processor lease.
    #[serde(rename = "processorLeaseMs", deserialize_with = "positive_ms")]
    pub processor_lease: Duration,
    /// How often the lease is renewed.
    #[serde(rename = "heartbeatMs", deserialize_with = "positive_ms")]
    pub heartbeat: Duration,
    /// How long the index may lag behind the table.
    #[serde(rename = "indexLagMs", deserialize_with = "ms")]
    pub index_lag: Duration,
    /// Consecutive turns without a settled task before the tail calls end.
    #[serde(deserialize_with = "positive")]
    pub max_idle_turns: u32,
    /// How far clocks may differ.
    #[serde(rename = "clockSkewMs", deserialize_with = "ms")]
    pub clock_skew: Duration,
    /// How long settled tasks are kept.
    pub retention: Retention,
    /// The expiry of a foreign task without `ttl`, from first sight.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// Every task expires at most this long after its creation; `None`
    /// where that is not promised. Expired tasks then cost no reads.
    #[serde(rename = "expiryBoundMs", default, deserialize_with = "optional_ms")]
    pub expiry_bound: Option<Duration>,
    /// From which end the queue runs.
    pub order: Order,
    /// How long one notification holds others back.
    #[serde(rename = "notificationMarkerMs", deserialize_with = "ms")]
    pub notification_marker: Duration,
    /// How long the queue pauses when the downstream rejects us, and at most when it is busy.
    #[serde(rename = "pauseMs", deserialize_with = "positive_ms")]
    pub pause: Duration,
    /// The share of successful runs that leave a line in the log, from 0 to 1; other runs always do.
    #[serde(default = "all", deserialize_with = "share")]
    pub logged_successes: f64,
    /// What is traced; `None`: nothing.
    pub traces: Option<TraceSettings>,
}

impl ProcessSettings {
    /// How long a task's lease is: enough to run, settle and be wrong about the time.
    #[must_use]
    pub fn task_lease(&self) -> Duration {
        self.task_timeout + self.deadline_margin + self.clock_skew
    }

    /// When every run of a turn that starts now must have ended: a margin before the function's
    /// deadline, or where no deadline is known, one run after the turn.
    pub(super) fn hard_stop(&self, now: Millis, deadline: Option<Millis>) -> Millis {
        deadline.map_or(now.plus(self.turn + self.task_timeout), |at| {
            at.minus(self.deadline_margin)
        })
    }

    /// Whether a task runs without neighbours (S4): it may have killed its process before. From
    /// the third start on, because most processes die of something else; from the last attempt
    /// on in any case, because only a run alone proves whose fault it was. A newer state of a key
    /// starts with no attempts, so that it is alone at once.
    #[must_use]
    pub fn must_run_alone(&self, task: &Candidate) -> bool {
        let spared = self.max_attempts.saturating_sub(1).min(2);
        task.lease_ran_out && (task.attempts >= spared || task.attempts == 0)
    }
}

/// How the circuit breaker works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettings {
    /// After it has been open for this long, the queue pauses.
    #[serde(rename = "pauseAfterMs", deserialize_with = "positive_ms")]
    pub pause_after: Duration,
    /// How often an open breaker returns one task without counting an attempt.
    pub max_returns: u32,
}

/// One invocation of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The message that invoked it; the same at each of the platform's retries.
    pub message_id: String,
    /// When the platform ends it; `None` if unknown.
    pub deadline: Option<Millis>,
}
