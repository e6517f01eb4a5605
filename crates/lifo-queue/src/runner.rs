//! Task runners: what a task *does*.
//!
//! Implement [`TaskRunner`] for your own, or choose one by configuration: [`http`], [`lambda`]
//! or [`simulated`].

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

/// Runs one task against the throughput-constrained system.
///
/// A run may be repeated: after a crash, a time-out or [`Outcome::Retry`] the same task runs
/// again with a higher [`Task::attempt`]. Use [`Task::idempotency_key`] as the idempotency key of
/// its effects. A run that panics or outlasts the task timeout costs this task one attempt and
/// others nothing; a run that blocks its thread delays the others, so move blocking work to
/// `tokio::task::spawn_blocking`. When the function nears its deadline the run is dropped at
/// its next await point.
#[async_trait]
pub trait TaskRunner: Send + Sync {
    /// Runs the task and says how it ended. Errors are outcomes.
    async fn run(&self, task: &Task) -> Outcome;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done: SUCCESS.
    Success,
    /// Will never succeed: FAILURE, without further attempts.
    Failure {
        /// Kept with the task.
        reason: String,
    },
    /// Did not work this time: back to PENDING with backoff, FAILURE once the attempts are used
    /// up.
    Retry {
        /// Kept with the task.
        reason: String,
    },
    /// The downstream has no room: back to PENDING, and the processor slows down. The attempt
    /// does not count, a bounded number of times.
    Busy {
        /// Not before, if the downstream said so. [`MAX_RETRY_AFTER`] at most; never sooner than
        /// the queue's own backoff.
        retry_after: Option<Duration>,
    },
    /// The downstream is down, or cannot be reached. For one task alone it is a
    /// [`Retry`](Self::Retry). When more distinct tasks than run at once meet it with no answer in
    /// between, the circuit breaker opens: only probes start, and no attempt counts.
    Unavailable {
        /// Kept with the task.
        reason: String,
    },
    /// The downstream rejects *us*: wrong credentials or a wrong address. For one task alone it
    /// is a [`Retry`](Self::Retry); when several distinct tasks hit it in a row the queue
    /// pauses, rather than fail one task after another.
    Refused {
        /// Kept with the task and the pause.
        reason: String,
    },
}
