//! The scripted outcome of a run, per task and attempt.

use std::time::Duration;

use lifo_queue::task::Task;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Succeed,
    Fail,
    Retry,
    /// The downstream is busy. It can specify the time to wait.
    Busy(Option<Duration>),
    /// The downstream is unavailable, or responds with HTTP 500.
    Unavailable,
    /// The downstream rejects the queue itself, for example its credentials.
    Reject,
    Panic,
    /// The run never ends.
    Hang,
    Kill,
}

/// Decides the duration and the outcome of a run.
pub type Script = dyn Fn(&Task) -> (Duration, Deed) + Send + Sync;
