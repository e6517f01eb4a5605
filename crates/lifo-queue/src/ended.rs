//! Tasks that ended as SUCCESS or FAILURE, read from the table's stream.

use serde::Serialize;
use serde_json::Value;

use crate::image::{Attributes, count, integer, status, text};
use crate::schema;
use crate::task::{TaskStatus, truncate_error};
use crate::time::Millis;

/// A task that ended. An attribute that is missing or can't be read is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedTask {
    /// Id of the task; for a task with a key, the key.
    pub task_id: String,
    /// SUCCESS or FAILURE.
    pub task_status: TaskStatus,
    /// Creation time, in milliseconds since the epoch.
    pub task_created: Option<Millis>,
    /// End time, in milliseconds since the epoch.
    pub ended_at: Option<Millis>,
    /// Number of attempts that counted against the maximum.
    pub attempts: Option<u32>,
    /// Number of starts, including those that did not count against the maximum.
    pub total_attempts: Option<u32>,
    /// Most recent error, truncated. A successful task also has one if an earlier attempt failed.
    pub last_error: Option<String>,
    /// Version of the key's state. Only tasks with a key have one.
    pub task_version: Option<String>,
}

impl EndedTask {
    /// Reads the task from its item before and after a change. `None` unless the change is from
    /// PENDING or TAKEN to SUCCESS or FAILURE, and the id can be read.
    pub fn from_images(before: &Value, after: &Value) -> Option<Self> {
        let earlier = Attributes::of(before).read(schema::TASK_STATUS, status)?;
        let mut attributes = Attributes::of(after);
        let task_status = attributes.read(schema::TASK_STATUS, status)?;
        if earlier.is_settled() || !task_status.is_settled() {
            return None;
        }
        Some(Self {
            task_id: attributes.read(schema::TASK_ID, text)?,
            task_status,
            task_created: attributes.read(schema::TASK_CREATED, integer).map(Millis),
            ended_at: attributes.read(schema::TASK_UPDATED, integer).map(Millis),
            attempts: attributes.read(schema::ATTEMPTS, count),
            total_attempts: attributes.read(schema::TOTAL_ATTEMPTS, count),
            last_error: attributes
                .read(schema::LAST_ERROR, text)
                .map(|error| truncate_error(&error).to_owned()),
            task_version: attributes.read(schema::TASK_VERSION, text),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(task_status: &str) -> Value {
        json!({
            "taskId": {"S": "order-1"},
            "taskStatus": {"S": task_status},
            "taskCreated": {"N": "1700000000123"},
            "taskUpdated": {"N": "1700000004567"},
            "attempts": {"N": "2"},
            "totalAttempts": {"N": "3"},
            "lastError": {"S": "500 from the warehouse"},
            "taskVersion": {"S": "s00000000000000000007"},
            "payload": {"M": {"secret": {"S": "of the producer"}}},
        })
    }

    fn read(before: &str, after: &str) -> Option<EndedTask> {
        EndedTask::from_images(&item(before), &item(after))
    }

    #[test]
    fn an_ended_task_is_read_without_its_payload() {
        assert_eq!(
            serde_json::to_value(read("TAKEN", "FAILURE").unwrap()).unwrap(),
            json!({
                "taskId": "order-1",
                "taskStatus": "FAILURE",
                "taskCreated": 1_700_000_000_123_i64,
                "endedAt": 1_700_000_004_567_i64,
                "attempts": 2,
                "totalAttempts": 3,
                "lastError": "500 from the warehouse",
                "taskVersion": "s00000000000000000007",
            })
        );
    }

    #[test]
    fn only_a_transition_to_success_or_failure_ends_a_task() {
        for before in ["PENDING", "TAKEN", "TAKEN#3"] {
            for after in ["SUCCESS", "FAILURE", "FAILURE#3"] {
                assert!(read(before, after).is_some(), "{before} to {after}");
            }
        }
        for (before, after) in [
            ("PENDING", "TAKEN"),
            ("TAKEN", "PENDING"),
            ("FAILURE", "PENDING"),
            ("SUCCESS", "SUCCESS"),
            ("FAILURE", "FAILURE"),
            ("FAILURE", "SUCCESS"),
            ("DONE", "SUCCESS"),
            ("TAKEN", "DONE"),
        ] {
            assert_eq!(read(before, after), None, "{before} to {after}");
        }
        let settled = item("SUCCESS");
        assert_eq!(EndedTask::from_images(&Value::Null, &settled), None);
        assert_eq!(EndedTask::from_images(&settled, &Value::Null), None);
    }

    #[test]
    fn unreadable_attribute_does_not_affect_the_others() {
        let mut after = item("FAILURE");
        after["attempts"] = json!({"S": "none"});
        after["taskUpdated"] = json!({"N": "soon"});
        after.as_object_mut().unwrap().remove("taskVersion");
        let task = EndedTask::from_images(&item("PENDING"), &after).unwrap();
        assert_eq!(
            (task.attempts, task.ended_at, task.task_version),
            (None, None, None)
        );
        assert_eq!(task.total_attempts, Some(3));
    }
}
