//! How `process-tasks` works, and what one invocation of it knows.

use std::time::Duration;

pub use super::breaker::BreakerSettings;
use super::codel::CodelSettings;
pub use super::rate::RateLimit;
use crate::backoff::Backoff;
use crate::store::{Candidate, Order};
use crate::task::Retention;
use crate::time::Millis;

/// How `process-tasks` works. The defaults in `infra/` are written behind each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSettings {
    /// How long a turn takes tasks (60 s).
    pub turn: Duration,
    /// How long one run may take (30 s).
    pub task_timeout: Duration,
    /// How long before the function's deadline every task must be returned (10 s).
    pub deadline_margin: Duration,
    /// Tasks that run at once (10).
    pub slots: u16,
    /// Starts a second, if they are limited (unlimited).
    pub rate: Option<RateLimit>,
    /// Attempts before FAILURE (5).
    pub max_attempts: u32,
    /// How often a busy downstream costs no attempt (20).
    pub max_busy_returns: u32,
    /// The circuit breaker; `None` to do without one.
    pub breaker: Option<BreakerSettings>,
    /// The bound on age under overload; `None` to do without one (none).
    pub codel: Option<CodelSettings>,
    /// How long a run takes at most while the downstream is well; slower ones lower the
    /// concurrency (`None`).
    pub target_latency: Option<Duration>,
    /// How long a task waits after an attempt (1 s, doubling up to 5 min).
    pub backoff: Backoff,
    /// The processor lease (20 s).
    pub processor_lease: Duration,
    /// How often the lease is renewed (5 s).
    pub heartbeat: Duration,
    /// How long the index may lag behind the table (2 s).
    pub index_lag: Duration,
    /// Consecutive turns without a settled task before the tail calls end (10).
    pub max_idle_turns: u32,
    /// How far clocks may differ (2 s).
    pub clock_skew: Duration,
    /// How long settled tasks are kept.
    pub retention: Retention,
    /// The expiry of a foreign task without `ttl`, from first sight (1 h).
    pub default_ttl: Duration,
    /// Every task expires at most this long after its creation; `None`
    /// where that is not promised. Expired tasks then cost no reads.
    pub expiry_bound: Option<Duration>,
    /// From which end the queue runs (newest first).
    pub order: Order,
    /// How long one notification holds others back (10 s).
    pub notification_marker: Duration,
    /// How long the queue pauses when the downstream rejects us, and at most when it is busy
    /// (5 min).
    pub pause: Duration,
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

/// One invocation of `process-tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The message that invoked it; the same at each of the platform's retries.
    pub message_id: String,
    /// When the platform ends it; `None` if unknown.
    pub deadline: Option<Millis>,
}
