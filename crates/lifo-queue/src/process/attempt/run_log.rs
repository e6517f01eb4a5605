//! The log line of a run. `docs/reference/telemetry.md` specifies its fields.

use std::time::Duration;

use super::{End, Why};
use crate::runner::Outcome;
use crate::task::Task;
use crate::time::Millis;

/// Name of the runner's response. An outcome of `None` means that the run was cut off.
pub(super) fn response(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Success) => "success",
        Some(Outcome::Failure { .. }) => "failure",
        Some(Outcome::Retry { .. }) => "retry",
        Some(Outcome::Busy { .. }) => "busy",
        Some(Outcome::Unavailable { .. }) => "unavailable",
        Some(Outcome::Rejecting { .. }) => "rejecting",
        None => "cut_off",
    }
}

/// Whether to log a run. Selects the share `logged_successes` of successful runs, and every other
/// run. `draw` returns a random number from 0 to 1. It is called only if the number matters, so
/// that the default does not change seeded schedules.
pub(super) fn is_due(end: Option<&End>, logged_successes: f64, draw: impl FnOnce() -> f64) -> bool {
    !matches!(end, Some(End::Succeeded)) || logged_successes >= 1.0 || draw() < logged_successes
}

/// Logs a run that started at `started` and ended at `ended`. `end` is its result, or `None` if the
/// store did not respond. Omits the reason of a failure, because it quotes the downstream's
/// response, which can contain the payload.
pub(super) fn write(
    task: &Task,
    response: &'static str,
    reason: Option<&str>,
    end: Option<&End>,
    started: Millis,
    ended: Millis,
) {
    let due_ms = match end {
        Some(End::Returned { not_before, .. }) => Some(not_before.0),
        _ => None,
    };
    tracing::info!(
        task_id = %task.task_id,
        attempt = task.attempt,
        outcome = outcome(end),
        response,
        http_status = reason.and_then(http_status),
        age_ms = millis(started.since(task.task_created)),
        duration_ms = millis(ended.since(started)),
        due_ms,
        "run ended"
    );
}

/// The status code at the start of a reason such as `HTTP 503 …`. The rest can contain the payload.
fn http_status(reason: &str) -> Option<u16> {
    let code = reason.strip_prefix("HTTP ")?.get(..3)?;
    code.parse().ok()
}

/// Returns the name of the task's result.
fn outcome(end: Option<&End>) -> &'static str {
    match end {
        Some(End::Succeeded) => "succeeded",
        Some(End::Failed | End::Quarantined) => "failed",
        Some(End::Returned { why, .. }) => match why {
            Why::Retry => "retry",
            Why::Busy => "busy",
            Why::Unavailable => "unavailable",
            Why::CutOff | Why::Unstarted => "cut_off",
        },
        Some(End::LostRace) => "lost_race",
        Some(End::StoreFailed) | None => "not_recorded",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_code_is_parsed_from_the_start_of_a_reason() {
        for (reason, status) in [
            ("HTTP 422 Unprocessable Entity: no such order", Some(422)),
            ("HTTP 200, but the response ended early", Some(200)),
            ("HTTP 5", None),
            ("HTTP ééé", None),
            ("no connection", None),
        ] {
            assert_eq!(http_status(reason), status, "{reason}");
        }
    }

    #[test]
    fn share_of_successful_runs_and_all_other_runs_are_logged() {
        let success = Some(&End::Succeeded);
        for share in [0.0, 0.25, 1.0] {
            let draws = (0..100).map(|drawn| f64::from(drawn) / 100.0);
            let logged = draws
                .filter(|drawn| is_due(success, share, || *drawn))
                .count();
            let logged = logged as f64 / 100.0;
            assert!((logged - share).abs() < f64::EPSILON, "{logged} of {share}");
        }
        for end in [Some(&End::Failed), Some(&End::LostRace), None] {
            assert!(is_due(end, 0.0, || 0.99), "{}", outcome(end));
        }
    }
}
