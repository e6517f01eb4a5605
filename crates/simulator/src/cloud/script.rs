//! The scripted outcome of a run, per task and attempt.

use std::time::Duration;

use lifo_queue::task::Task;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The task ends as SUCCESS.
    Succeed,
    /// The task ends as FAILURE, without further attempts.
    Fail,
    /// The run asks for a retry.
    Retry,
    /// The downstream is busy, and may name the time to wait.
    Busy(Option<Duration>),
    /// The downstream is down.
    Unavailable,
    /// The downstream responds with HTTP 500.
    InternalError,
    /// The downstream rejects the queue itself, for example its credentials.
    Reject,
    Panic,
    /// The run never ends.
    Hang,
    /// The run kills its process.
    Kill,
}

/// Decides the duration and the outcome of a run.
pub type Script = dyn Fn(&Task) -> (Duration, Deed) + Send + Sync;
