//! Signals from runs about the downstream, and the decisions about further starts.

use std::time::Duration;

use crate::control::Cause;
use crate::runner::Outcome;
use crate::time::Millis;

/// State of the downstream according to a run, independent of the task's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Signal {
    /// A success or a failure.
    Result,
    /// Busy, possibly with a requested wait.
    Busy { retry_after: Option<Duration> },
    /// No response, or an error of the downstream.
    Unavailable,
    /// The downstream rejects the queue's calls.
    Rejecting,
    /// No information, after a retry or a run that was cut off.
    Nothing,
}

impl Signal {
    /// Why the run ended without a result; `None` after a result or without information.
    pub(super) fn cause(self) -> Option<Cause> {
        match self {
            Self::Busy { .. } => Some(Cause::Busy),
            Self::Unavailable => Some(Cause::Unavailable),
            Self::Rejecting => Some(Cause::Rejecting),
            Self::Result | Self::Nothing => None,
        }
    }
}

impl From<Option<&Outcome>> for Signal {
    fn from(outcome: Option<&Outcome>) -> Self {
        match outcome {
            Some(Outcome::Success | Outcome::Failure { .. }) => Self::Result,
            Some(Outcome::Busy { retry_after, .. }) => Self::Busy {
                retry_after: *retry_after,
            },
            Some(Outcome::Unavailable { .. }) => Self::Unavailable,
            Some(Outcome::Rejecting { .. }) => Self::Rejecting,
            Some(Outcome::Retry { .. }) | None => Self::Nothing,
        }
    }
}

/// Whether another task may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Start {
    /// Any task may start.
    Any,
    /// One task may start, as a probe.
    Probe,
    /// No task may start until this time or the end of a run, whichever comes first.
    Wait(Millis),
}

/// Decisions about a task whose run ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) struct Ruling {
    /// Whether the run costs the task an attempt.
    pub(in crate::process) charged: bool,
    /// Time of the next probe while the circuit breaker is open.
    pub(in crate::process) next_probe: Option<Millis>,
    /// Maximum time until the task starts again if the run costs no attempt.
    pub(in crate::process) next_start: Duration,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::process) struct Run {
    pub(in crate::process) started: Millis,
    pub(in crate::process) ended: Millis,
    /// Whether it was the task's first run.
    pub(in crate::process) first: bool,
}
