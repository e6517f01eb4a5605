//! The summary of a turn.

use serde::Serialize;

use crate::control::Cause;

/// The summary that a turn returns and logs: its exit and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnSummary {
    /// Why the turn ended.
    pub exit: Exit,
    /// Whether a tail call was published.
    pub tail_call: bool,
    /// Number of taken tasks whose run started.
    pub taken: u32,
    /// Number of tasks settled as SUCCESS.
    pub succeeded: u32,
    /// Number of tasks settled as FAILURE, including quarantined tasks.
    pub failed: u32,
    /// Number of tasks returned after an attempt that counts, including all `cut_off` tasks.
    pub retried: u32,
    /// Number of tasks returned because the downstream was busy.
    pub busy: u32,
    /// Number of tasks returned, with their attempt restored, because of an unavailable downstream.
    pub unavailable: u32,
    /// Number of starts while the circuit breaker was open.
    pub probes: u32,
    /// Whether the circuit breaker was open at the end of the turn.
    pub breaker_open: bool,
    /// Limit on concurrent tasks in effect at the end of the turn: 1 while the circuit breaker is
    /// open, and 0 if the turn could not start tasks.
    pub limit: u32,
    /// Why the last runs of the turn had no result; `None` if the last run had one.
    pub cause: Option<Cause>,
    /// Number of key states that were superseded before their run succeeded or failed.
    pub superseded: u32,
    /// Time for which the queue was overloaded and only new tasks started, in milliseconds.
    pub overloaded_ms: u64,
    /// Number of tasks returned because the time was up or too little of the lease was left.
    pub cut_off: u32,
    /// Number of tasks that were taken ahead and returned because no slot became free in time.
    pub unstarted: u32,
    /// Number of tasks set to FAILURE because their item can't be taken or read.
    pub quarantined: u32,
    /// Number of takes, returns and settlements that failed because the task had changed.
    pub lost_races: u32,
    /// Number of index passes that found no task to take, which shows spare capacity.
    pub empty_polls: u32,
    /// Number of index pages read.
    pub queries: u32,
    /// Number of failed store requests. If a task's request failed, the sweep returns the task.
    pub store_errors: u32,
    /// Number of consecutive turns that settled nothing, including this turn.
    pub idle_turns: u32,
    /// Duration of the turn, in milliseconds.
    pub duration_ms: u64,
    /// Maximum age of a task at its start, in milliseconds.
    pub oldest_start_ms: u64,
}

impl TurnSummary {
    /// Number of tasks settled as SUCCESS or FAILURE.
    #[must_use]
    pub fn settled(&self) -> u32 {
        self.succeeded + self.failed
    }
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Another processor is active. It reads the index again before it ends.
    #[default]
    AlreadyActive,
    /// The queue is paused.
    Paused,
    /// The queue is empty.
    Empty,
    /// The time was up, or the processor lease expired. A tail call follows.
    TimeUp,
    /// The time was up, but no tail call follows, because too many consecutive turns settled
    /// nothing. The sweep takes over (rule 10).
    NoProgress,
    /// Another processor acquired the processor lease. It reads the index again before it ends.
    LeaseLost,
    /// The turn failed. Lambda retries the message that invoked it.
    Failed,
}
