//! Tasks for the runners' tests.

use serde_json::json;

use crate::task::{Task, TaskId};
use crate::time::{EpochSeconds, Millis};

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
