//! Signals from runs about the downstream, and the ledger's decisions.

use std::time::Duration;

use crate::control::Pause;
use crate::runner::Outcome;
use crate::time::Millis;

/// State of the downstream according to a run, independent of the task's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Signal {
    /// A success or a failure.
    Result,
    /// Busy, possibly with a requested wait. Without a requested wait, the downstream may also be
    /// unavailable. While the breaker is closed, such a response does not count if an earlier run
    /// is active, because the downstream may be working on that run.
    Busy { retry_after: Option<Duration> },
    /// The downstream rejects the queue's calls.
    Rejecting,
    /// The downstream is unavailable.
    Unavailable,
    /// Internal error: either the downstream is unavailable or the task is the cause.
    InternalError,
    /// No information, after a retry or a run that was cut off.
    Nothing,
}

impl From<Option<&Outcome>> for Signal {
    fn from(outcome: Option<&Outcome>) -> Self {
        match outcome {
            Some(Outcome::Success | Outcome::Failure { .. }) => Self::Result,
            Some(Outcome::Busy { retry_after, .. }) => Self::Busy {
                retry_after: *retry_after,
            },
            Some(Outcome::Rejecting { .. }) => Self::Rejecting,
            Some(Outcome::Unavailable { .. }) => Self::Unavailable,
            Some(Outcome::InternalError { .. }) => Self::InternalError,
            Some(Outcome::Retry { .. }) | None => Self::Nothing,
        }
    }
}

/// Whether another task may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::process) enum Start {
    /// Any task may start.
    Any,
    /// One task may start, as a probe.
    Probe,
    /// No task may start until this time or the end of a run, whichever comes first.
    Wait(Millis),
    /// No task may start, because the queue must pause.
    Pause(Pause),
}

/// Decisions about a task after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) struct Ruling {
    /// Earliest restart of the task if a run without a result does not count as an attempt.
    pub(in crate::process) spared: Option<Spared>,
    /// Maximum time until the task starts again if the run does not count as an attempt.
    pub(in crate::process) next_start: Duration,
    /// Whether an operator holds the breaker open.
    pub(in crate::process) held: bool,
    /// State of the downstream, according to the run.
    pub(in crate::process) signal: Signal,
}

/// Earliest restart of a task that found the downstream unavailable. The run does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Spared {
    /// At the next probe, because the breaker is open.
    UntilProbe(Millis),
    /// After the task's backoff. The breaker is closed, but this and other tasks lacked a result.
    Backoff,
}

/// The number of a run, in start order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::process) struct RunNumber(pub(super) u64);

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::process) struct Run {
    pub(in crate::process) number: RunNumber,
    pub(in crate::process) started: Millis,
    pub(in crate::process) ended: Millis,
}
