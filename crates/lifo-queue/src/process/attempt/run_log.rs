//! The line that each run leaves in the log. `docs/reference/telemetry.md` promises its fields.

use std::time::Duration;

use super::{End, Why};
use crate::runner::Outcome;
use crate::task::Task;
use crate::time::Millis;

/// What the runner answered; `None`: the run was cut off.
pub(super) fn answer(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Success) => "success",
        Some(Outcome::Failure { .. }) => "failure",
        Some(Outcome::Retry { .. }) => "retry",
        Some(Outcome::Busy { .. }) => "busy",
        Some(Outcome::Unavailable { .. }) => "unavailable",
        Some(Outcome::Refused { .. }) => "rejecting",
        None => "cut_off",
    }
}

/// Logs a run from `started` to `ended`. `end` is the result for the task, unless the store did
/// not answer.
///
/// Not the reason: it quotes the downstream, which may quote the payload.
pub(super) fn write(
    task: &Task,
    answer: &'static str,
    end: Option<&End>,
    started: Millis,
    ended: Millis,
) {
    let due_ms = match end {
        Some(End::GivenBack { not_before, .. }) => Some(not_before.0),
        _ => None,
    };
    tracing::info!(
        task_id = %task.task_id,
        attempt = task.attempt,
        outcome = outcome(end),
        answer,
        age_ms = millis(started.since(task.task_created)),
        duration_ms = millis(ended.since(started)),
        due_ms,
        "run ended"
    );
}

/// The result for the task.
fn outcome(end: Option<&End>) -> &'static str {
    match end {
        Some(End::Succeeded) => "succeeded",
        Some(End::Failed | End::Quarantined) => "failed",
        Some(End::GivenBack { why, .. }) => match why {
            Why::Retry => "retry",
            Why::Busy => "busy",
            Why::Unavailable => "unavailable",
            Why::CutOff => "cut_off",
        },
        Some(End::LostRace) => "lost_race",
        Some(End::StoreFailed) | None => "not_recorded",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
