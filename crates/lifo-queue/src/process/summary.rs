//! What a turn did.

use serde::Serialize;

/// The summary that a turn returns and logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnSummary {
    /// Why the turn ended.
    pub exit: Exit,
    /// Whether a tail call was published.
    pub tail_call: bool,
    /// Successful takes.
    pub taken: u32,
    /// Settled as SUCCESS.
    pub succeeded: u32,
    /// Settled as FAILURE, quarantined ones included.
    pub failed: u32,
    /// Returned after an attempt that counts, cut-off ones included.
    pub retried: u32,
    /// Returned because the downstream was busy.
    pub busy: u32,
    /// Returned because the downstream was unavailable, without counting an attempt.
    pub unavailable: u32,
    /// Starts while the circuit breaker was open.
    pub probes: u32,
    /// Whether the turn leaves the circuit breaker open.
    pub breaker_open: bool,
    /// States of keys that a newer one replaced before their run succeeded or failed.
    pub superseded: u32,
    /// How long the queue was overloaded and only new tasks started, in milliseconds.
    pub overloaded_ms: u64,
    /// Returned because the time was up.
    pub cut_off: u32,
    /// Put to FAILURE because the item itself could not be taken or read.
    pub quarantined: u32,
    /// Takes and settlements that another was faster with.
    pub lost_races: u32,
    /// Passes over the index that found nothing to take: spare capacity.
    pub empty_polls: u32,
    /// Index pages read.
    pub queries: u32,
    /// Steps that failed after repeated store errors; the sweep repairs their tasks.
    pub store_errors: u32,
    /// Consecutive turns that settled nothing, this one included.
    pub idle_turns: u32,
    /// How long the turn took, in milliseconds.
    pub duration_ms: u64,
    /// Age of the oldest task at its start, in milliseconds.
    pub oldest_start_ms: u64,
}

impl TurnSummary {
    /// Tasks brought to an end.
    #[must_use]
    pub fn settled(&self) -> u32 {
        self.succeeded + self.failed
    }
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Another processor is active, and will look again.
    #[default]
    AlreadyActive,
    /// The queue is paused.
    Paused,
    /// Nothing is left to do.
    Empty,
    /// The time was up, or the processor lease expired; a tail call follows.
    TimeUp,
    /// The time was up, but too many turns in a row settled nothing: no tail call, the sweep
    /// takes over (rule 10).
    NoProgress,
    /// The processor lease went to another, who looks again.
    LeaseLost,
    /// The turn failed; Lambda retries its message.
    Failed,
}
