//! The two events of `trigger`: a batch of the table's stream, and a notification of
//! TriggerTopic.

use aws_lambda_events::dynamodb::{Event, EventRecord};
use lambda::event::{self, EventError};
use lifo_queue::notify::WakeReason;
use lifo_queue::schema::{RESERVED_PREFIX, TASK_ID, TASK_STATUS};
use lifo_queue::task::{StatusKey, TaskStatus};
use serde_json::Value;

const STREAM: &str = "the task table's stream";

/// A wake-up to be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WakeUp {
    /// The event's id, the same whenever Lambda brings it again.
    pub(crate) id: String,
    pub(crate) reason: WakeReason,
    /// Inserted tasks that are PENDING; 0 for a tail call.
    pub(crate) tasks: usize,
}

/// The wake-up that the event asks for; `None` if no record of its batch does.
pub(crate) fn read(event: Value) -> Result<Option<WakeUp>, EventError> {
    if event::is_from(&event, "aws:dynamodb") {
        let shape = |source| EventError::Shape {
            expected: STREAM,
            source,
        };
        let event: Event = serde_json::from_value(event).map_err(shape)?;
        return Ok(inserts(&event.records));
    }
    if event::is_from(&event, "aws:sns") {
        let id = event::sns_message_id(event)?;
        return Ok(Some(WakeUp {
            id,
            reason: WakeReason::TailCall,
            tasks: 0,
        }));
    }
    Err(EventError::unexpected(
        &event,
        "records of the task table's stream, or a notification of TriggerTopic",
    ))
}

/// One wake-up for the whole batch, named after its first record: Lambda brings the same batch,
/// with the same first record, until it succeeds or its retries are used up.
fn inserts(records: &[EventRecord]) -> Option<WakeUp> {
    let first = records.first()?;
    let tasks = records.iter().filter(|record| is_new_task(record)).count();
    (tasks > 0).then(|| WakeUp {
        id: first.event_id.clone(),
        reason: WakeReason::Insert,
        tasks,
    })
}

/// The mapping's filter lets INSERTs through only, and is looked after here too: without it each
/// write of a processor would wake another. The queue's own items are not tasks, and a task
/// that is inserted in another status than PENDING needs no processor.
fn is_new_task(record: &EventRecord) -> bool {
    let text = |item: &serde_dynamo::Item, name: &str| match item.get(name) {
        Some(serde_dynamo::AttributeValue::S(text)) => Some(text.clone()),
        _ => None,
    };
    record.event_name == "INSERT"
        && text(&record.change.keys, TASK_ID).is_some_and(|id| !id.starts_with(RESERVED_PREFIX))
        && text(&record.change.new_image, TASK_STATUS)
            .and_then(|status| status.parse::<StatusKey>().ok())
            .is_some_and(|key| key.status == TaskStatus::Pending)
}

#[cfg(test)]
mod tests;
