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
/// effects. A run that panics costs this task one attempt. A run that exceeds the task timeout ends
/// as [`Outcome::Unavailable`]. Neither affects other tasks. A run that blocks its thread delays
/// the others, so move blocking work to `tokio::task::spawn_blocking`. Shortly before the
/// function's deadline, the run is dropped at its next await point.
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
    /// The downstream is down or can't be reached, or its response may be the task's fault, as an
    /// HTTP status of 500. The task returns to PENDING. The attempt counts only if another task has
    /// had a result (a success or a failure) since this task's previous return. After five
    /// consecutive runs without a result, the circuit breaker opens: only probes start, and no
    /// attempt counts.
    Unavailable {
        /// Stored in the task's `lastError`.
        reason: String,
    },
    /// The downstream rejects the queue, for example its credentials. Acts like
    /// [`Unavailable`](Self::Unavailable), but the probes follow at longer intervals.
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
            | Self::Rejecting { reason } => Some(reason),
        }
    }
}
