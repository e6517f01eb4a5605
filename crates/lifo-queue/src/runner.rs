//! Task runners, which do the work of tasks.
//!
//! Implement [`TaskRunner`], or configure a built-in runner: [`http`], [`lambda`] or [`simulated`].

pub mod config;
pub mod http;
pub mod lambda;
mod reason;
mod retry_after;
pub mod simulated;

#[cfg(test)]
pub(crate) mod fake_aws;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod traces;

use std::time::Duration;

pub use self::retry_after::MAX_RETRY_AFTER;
use async_trait::async_trait;

use crate::task::Task;

/// Runs one task on the downstream, the system whose throughput is limited.
///
/// A task may run more than once: after a crash, a timeout or [`Outcome::Retry`], it runs again
/// with a higher [`Task::attempt`]. Use [`Task::idempotency_key`] as the idempotency key for its
/// effects. A run that panics or exceeds the task timeout costs this task one attempt and doesn't
/// affect other tasks. A run that blocks its thread delays the others, so move blocking work to
/// `tokio::task::spawn_blocking`. Shortly before the function's deadline, the run is dropped at its
/// next await point.
#[async_trait]
pub trait TaskRunner: Send + Sync {
    /// Runs the task and returns its outcome. Errors are also reported as outcomes.
    async fn run(&self, task: &Task) -> Outcome;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run succeeded. The task ends as SUCCESS.
    Success,
    /// The run failed permanently. The task ends as FAILURE without further attempts.
    Failure {
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The run failed, but a retry may succeed. The task returns to PENDING with backoff, and ends
    /// as FAILURE once its attempts are used up.
    Retry {
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The downstream is busy. The task returns to PENDING, and the processor slows down. A bounded
    /// number of these attempts do not count.
    Busy {
        /// The wait that the downstream requested, if any. The queue waits at least for its own
        /// backoff, up to a maximum of [`MAX_RETRY_AFTER`].
        retry_after: Option<Duration>,
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The downstream is down or can't be reached. For a single task, this outcome acts like
    /// [`Retry`](Self::Retry). If more distinct tasks than can run concurrently end this way, with
    /// no result in between, the breaker opens. Then only probes start, and no attempt counts.
    Unavailable {
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The downstream responded with an internal error (HTTP 500). Either the downstream is down,
    /// as with [`Unavailable`](Self::Unavailable), or the task is the cause. The circuit breaker
    /// therefore grants the task fewer returns that do not count as an attempt.
    InternalError {
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The downstream rejects the queue, for example its credentials. For a single task, this
    /// outcome acts like [`Retry`](Self::Retry). If several distinct tasks in a row end this way,
    /// the queue pauses. Without the pause, one task after another would fail.
    Rejecting {
        /// Stored in the task's `lastError`.
        reason: String,
    },
}

impl Outcome {
    /// The response or the error; `None` for a success.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Success => None,
            Self::Failure { reason }
            | Self::Busy { reason, .. }
            | Self::Retry { reason }
            | Self::Unavailable { reason }
            | Self::InternalError { reason }
            | Self::Rejecting { reason } => Some(reason),
        }
    }
}
