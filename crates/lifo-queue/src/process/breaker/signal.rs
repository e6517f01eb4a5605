//! Signals of runs to the breaker, and the breaker's decisions.

use crate::time::Millis;

/// State of the downstream according to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Signal {
    /// It answered: success or failure.
    Answered,
    /// It is unavailable.
    Unavailable,
    /// It is busy and names no time. While the breaker is closed, this does not count if an earlier
    /// run is active: the downstream may be working on that one.
    Busy,
    /// Unknown.
    Nothing,
}

/// Whether one more task may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Start {
    /// Any task.
    Any,
    /// One task, as a probe.
    Probe,
    /// No task until this time or the end of a run, whichever is first.
    Wait(Millis),
}

/// When a task that found the downstream unavailable may start again without losing an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Spared {
    /// The breaker is open: at the next probe.
    UntilProbe(Millis),
    /// The breaker is closed, but this task and others had no answer before: after its backoff.
    Backoff,
}

/// The number of a run, in the order of the starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::process) struct RunNumber(pub(super) u64);
