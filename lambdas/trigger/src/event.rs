//! Parses the two events of `trigger`: a batch from the table's stream, and a notification from
//! TriggerTopic.

use aws_lambda_events::dynamodb::{Event, EventRecord};
use functions::event::{self, EventError};
use lifo_queue::notify::{Notification, WakeReason};
use lifo_queue::schema::{RESERVED_PREFIX, TASK_ID, TASK_STATUS, TASK_VERSION, TRACE_HEADER};
use lifo_queue::task::{StatusKey, TaskStatus};
use serde_json::Value;

const STREAM: &str = "the task table's stream";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WakeUp {
    /// The event's id, which stays the same when Lambda retries the event.
    pub(crate) id: String,
    pub(crate) reason: WakeReason,
    /// Number of PENDING new tasks and PENDING new states of keys. 0 for a tail call.
    pub(crate) tasks: usize,
    /// Trace headers of the wake-up's causes: the sampled tasks, or the turn that published the
    /// tail call.
    pub(crate) causes: Vec<String>,
}

/// Returns the wake-up that the event requires; `None` if no record of a batch requires one.
pub(crate) fn read(event: Value) -> Result<Option<WakeUp>, EventError> {
    if event::is_from(&event, "aws:dynamodb") {
        let shape = |source| EventError::Shape {
            expected: STREAM,
            source,
        };
        let event: Event = serde_json::from_value(event).map_err(shape)?;
        return Ok(new_tasks(&event.records));
    }
    if event::is_from(&event, "aws:sns") {
        let body = event["Records"][0]["Sns"]["Message"].as_str();
        let turn: Option<Notification> = body.and_then(|body| serde_json::from_str(body).ok());
        let causes = turn.and_then(|turn| turn.trace).into_iter().collect();
        let id = event::sns_message_id(event)?;
        return Ok(Some(WakeUp {
            id,
            reason: WakeReason::TailCall,
            tasks: 0,
            causes,
        }));
    }
    Err(EventError::unexpected(
        &event,
        "records of the task table's stream, or a notification of TriggerTopic",
    ))
}

/// Requests one wake-up for the whole batch, with the id of the first record. Lambda retries the
/// same batch, with the same first record, until it succeeds or its retries are exhausted.
fn new_tasks(records: &[EventRecord]) -> Option<WakeUp> {
    let first = records.first()?;
    let tasks: Vec<_> = records
        .iter()
        .filter(|record| is_new_task(record))
        .collect();
    let traces = tasks
        .iter()
        .filter_map(|record| text(&record.change.new_image, TRACE_HEADER));
    (!tasks.is_empty()).then(|| WakeUp {
        id: first.event_id.clone(),
        reason: WakeReason::Insert,
        tasks: tasks.len(),
        causes: traces.map(str::to_owned).collect(),
    })
}

/// Returns whether the record is for a task inserted as PENDING, or for a newer state of a key that
/// is PENDING and was not running. The processor's own writes do not change the version, so they do
/// not wake another processor. The queue's own items are not tasks. The event source mapping's
/// filter is broader, because it cannot compare versions.
fn is_new_task(record: &EventRecord) -> bool {
    let (old, new) = (&record.change.old_image, &record.change.new_image);
    let is_new = match record.event_name.as_str() {
        "INSERT" => true,
        "MODIFY" => {
            text(new, TASK_VERSION).is_some()
                && text(new, TASK_VERSION) != text(old, TASK_VERSION)
                && status(old) != Some(TaskStatus::Taken)
        }
        _ => false,
    };
    is_new
        && text(&record.change.keys, TASK_ID).is_some_and(|id| !id.starts_with(RESERVED_PREFIX))
        && status(new) == Some(TaskStatus::Pending)
}

fn text<'a>(item: &'a serde_dynamo::Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(serde_dynamo::AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

fn status(item: &serde_dynamo::Item) -> Option<TaskStatus> {
    let key: StatusKey = text(item, TASK_STATUS)?.parse().ok()?;
    Some(key.status)
}

#[cfg(test)]
mod tests;
