//! The scripted outcome of a run, per task and attempt.

use std::time::Duration;

use lifo_queue::task::Task;

/// What a run does in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// SUCCESS.
    Succeed,
    /// FAILURE at once.
    Fail,
    /// Not this time.
    Retry,
    /// No room, until the time it names, if it names one.
    Busy(Option<Duration>),
    /// The downstream is down.
    Unavailable,
    /// The downstream rejects us.
    Refuse,
    /// The runner panics.
    Panic,
    /// It never ends.
    Hang,
    /// It takes its process with it.
    Kill,
}

/// How long a run takes, and what it does then.
pub type Script = dyn Fn(&Task) -> (Duration, Deed) + Send + Sync;
