//! The signals of runs to the breaker, and its answers.

use crate::time::Millis;

/// What a run says of the downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Signal {
    /// It answered: success or failure.
    Answered,
    /// It is unavailable.
    Unavailable,
    /// It is busy and names no time. Says nothing while an earlier run is under way: the
    /// downstream may be working on that one.
    Busy,
    /// The run says nothing of the downstream.
    Nothing,
}

/// Whether one more task may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Start {
    /// Any task.
    Any,
    /// One task, as a probe.
    Probe,
    /// Not before this moment, or before a run ends.
    Wait(Millis),
}

/// When a task that found the downstream unavailable may start again, without losing an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Spared {
    /// The breaker is open: at the next probe.
    UntilProbe(Millis),
    /// The breaker is closed, but this and other tasks had no answer before: after its backoff.
    Backoff,
}

/// A run under way, in the order of the starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::process) struct RunNumber(pub(super) u64);
