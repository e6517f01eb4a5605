//! The summary of a turn.

use serde::Serialize;

/// The summary that a turn returns and logs: its exit and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnSummary {
    /// Why the turn ended.
    pub exit: Exit,
    /// Whether a tail call was published.
    pub tail_call: bool,
    /// Tasks taken that started a run.
    pub taken: u32,
    /// Tasks settled as SUCCESS.
    pub succeeded: u32,
    /// Tasks settled as FAILURE, including quarantined ones.
    pub failed: u32,
    /// Tasks returned after an attempt that counts, including all `cut_off` tasks.
    pub retried: u32,
    /// Tasks returned because the downstream was busy.
    pub busy: u32,
    /// Tasks returned because the downstream was unavailable, without counting an attempt.
    pub unavailable: u32,
    /// Starts while the circuit breaker was open.
    pub probes: u32,
    /// Whether the turn leaves the circuit breaker open.
    pub breaker_open: bool,
    /// Key states superseded by a newer state before their run succeeded or failed.
    pub superseded: u32,
    /// Time for which the queue was overloaded and only new tasks started, in milliseconds.
    pub overloaded_ms: u64,
    /// Tasks returned because the time was up or too little of their lease was left.
    pub cut_off: u32,
    /// Tasks set to FAILURE because their item can't be taken or read.
    pub quarantined: u32,
    /// Takes, returns and settlements that failed because another process had changed the task.
    pub lost_races: u32,
    /// Passes over the index that found no task to take, which shows spare capacity.
    pub empty_polls: u32,
    /// Index pages read.
    pub queries: u32,
    /// Steps and reads that failed in the store. The sweep returns the tasks of failed steps.
    pub store_errors: u32,
    /// Consecutive turns that settled nothing, including this one.
    pub idle_turns: u32,
    /// Duration of the turn, in milliseconds.
    pub duration_ms: u64,
    /// Maximum age of a task at its start, in milliseconds.
    pub oldest_start_ms: u64,
}

impl TurnSummary {
    /// Tasks settled as SUCCESS or FAILURE.
    #[must_use]
    pub fn settled(&self) -> u32 {
        self.succeeded + self.failed
    }
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Another processor is active, and reads the index again before it ends.
    #[default]
    AlreadyActive,
    /// The queue is paused.
    Paused,
    /// The queue is empty.
    Empty,
    /// The time was up, or the processor lease expired; a tail call follows.
    TimeUp,
    /// The time was up, but too many consecutive turns settled nothing: no tail call follows, and
    /// the sweep takes over (rule 10).
    NoProgress,
    /// Another processor acquired the processor lease, and reads the index again before it ends.
    LeaseLost,
    /// The turn failed; Lambda retries its message.
    Failed,
}
