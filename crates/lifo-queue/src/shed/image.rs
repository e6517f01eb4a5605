//! Converts a deleted item to a shed task. Parsing is lenient, because a deleted item can't be read
//! again.

use serde_json::Value;

use super::{ShedReason, ShedTask};
use crate::image::{Attributes, count, decode, integer, json, status, text};
use crate::schema;
use crate::task::{TaskId, TaskStatus, Ttl, truncate_error};
use crate::time::{EpochSeconds, Millis};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotShed {
    /// One of the queue's own items.
    #[error("it is one of the queue's own items")]
    OwnItem,
    /// The task was settled, and its retention ended.
    #[error("the task had ended as {0}")]
    Settled(TaskStatus),
    /// `taskStatus` is missing or unknown, so the item is not a task.
    #[error("its {} is missing or unknown", schema::TASK_STATUS)]
    NoStatus,
}

impl ShedTask {
    /// Reads a task from its key and the item as it was before the deletion. Both are in DynamoDB
    /// JSON, as in `{"taskId": {"S": "order-1"}}`.
    ///
    /// An unreadable attribute does not affect the others.
    ///
    /// # Errors
    /// [`NotShed`]: the item was not a PENDING or TAKEN task.
    pub fn from_image(key: &Value, image: &Value) -> Result<Self, NotShed> {
        let mut attributes = Attributes::of(image);
        let task_id = attributes
            .read(schema::TASK_ID, text)
            .or_else(|| decode(&key[schema::TASK_ID], text));
        let own = |id: &String| id.starts_with(schema::RESERVED_PREFIX);
        if task_id.as_ref().is_some_and(own) {
            return Err(NotShed::OwnItem);
        }
        let status = attributes
            .read(schema::TASK_STATUS, status)
            .ok_or(NotShed::NoStatus)?;
        if status.is_settled() {
            return Err(NotShed::Settled(status));
        }
        Ok(Self {
            reason: ShedReason::Expired,
            task_id: task_id.map(TaskId::from_stored),
            task_status: status,
            task_created: attributes.read(schema::TASK_CREATED, integer).map(Millis),
            expires_at: deadline(&mut attributes, status),
            attempts: attributes.read(schema::ATTEMPTS, count),
            total_attempts: attributes.read(schema::TOTAL_ATTEMPTS, count),
            last_error: attributes
                .read(schema::LAST_ERROR, text)
                .map(|error| truncate_error(&error).to_owned()),
            payload: attributes
                .read(schema::PAYLOAD, json)
                .unwrap_or(Value::Null),
            unreadable: attributes.unreadable,
        })
    }
}

/// The task's expiry. While a task is TAKEN, `expiresAt` contains it, because the take moves `ttl`
/// past the end of the lease. A task that a direct writer wrote as TAKEN has only `ttl`.
fn deadline(attributes: &mut Attributes<'_>, status: TaskStatus) -> Option<EpochSeconds> {
    let moved = match status {
        TaskStatus::Taken => attributes
            .read(schema::EXPIRES_AT, integer)
            .map(EpochSeconds),
        _ => None,
    };
    moved.or_else(
        || match Ttl::from_number(attributes.read(schema::TTL, integer)?) {
            Ttl::Milliseconds(at) => Some(at.floor_seconds()),
            Ttl::Seconds(at) => Some(at),
            Ttl::Missing | Ttl::Malformed => None,
        },
    )
}

#[cfg(test)]
mod tests;
