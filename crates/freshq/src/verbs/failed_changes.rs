//! Formats the tasks that a bulk command could not change.

use lifo_queue::operate::FailedChange;
use serde_json::{Value, json};

/// Maximum number of tasks that the text names.
const SHOWN: usize = 20;

/// Formats one line per task, up to [`SHOWN`]; empty without such tasks.
pub(super) fn text(failed: &[FailedChange]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let lines = failed
        .iter()
        .take(SHOWN)
        .map(|FailedChange { task, error }| format!("\n{task}: {error}"));
    let more = match failed.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    let count = failed.len();
    format!("\nnot changed: {count}{}{more}", lines.collect::<String>())
}

/// Formats the id and the error of each task as JSON.
pub(super) fn json(failed: &[FailedChange]) -> Value {
    let object =
        |FailedChange { task, error }: &FailedChange| json!({ "taskId": task, "error": error });
    failed.iter().map(object).collect()
}
