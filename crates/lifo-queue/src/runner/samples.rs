//! Tasks and outcomes for the runners' tests.

use serde_json::json;

use super::Outcome;
use crate::task::{Task, TaskId};
use crate::time::{EpochSeconds, Millis};

/// Builds an outcome of one kind from its reason.
pub(super) type Kind = fn(String) -> Outcome;

pub(super) const FAILURE: Kind = |reason| Outcome::Failure { reason };
pub(super) const RETRY: Kind = |reason| Outcome::Retry { reason };
pub(super) const REJECTING: Kind = |reason| Outcome::Rejecting { reason };
pub(super) const UNAVAILABLE: Kind = |reason| Outcome::Unavailable { reason };

/// Returns the reason for an outcome and asserts that the outcome is of this kind.
pub(super) fn reason(outcome: &Outcome, kind: Kind) -> String {
    let reason = outcome.reason().unwrap_or_default().to_owned();
    assert_eq!(*outcome, kind(reason.clone()));
    reason
}

/// A task with this id on its second attempt.
pub(super) fn task(id: &str) -> Task {
    Task {
        task_id: TaskId::from_stored(id),
        version: None,
        task_created: Millis(1_700_000_000_123),
        attempt: 2,
        total_attempts: 3,
        expires_at: EpochSeconds(1_700_003_600),
        payload: json!({"order": 7}),
    }
}
