//! A task's identity.

use std::fmt;

use serde::Serialize;
use uuid::Uuid;

use crate::schema::RESERVED_PREFIX;

/// Maximum length of a task id, in bytes: DynamoDB's limit for a partition key
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>).
pub const MAX_TASK_ID_BYTES: usize = 2048;

/// In a queue with groups, the character that separates the group from the rest of a task id.
pub const GROUP_END: char = '/';

/// A task's identity, chosen by its producer or a new UUIDv7.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(String);

/// Why a string is not a valid task id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTaskId {
    /// The empty string.
    #[error("is empty; give 1 to {MAX_TASK_ID_BYTES} bytes, or omit it for a UUIDv7")]
    Empty,
    /// Longer than a partition key can be.
    #[error("has {0} bytes; a DynamoDB key has at most {MAX_TASK_ID_BYTES}")]
    TooLong(usize),
    /// Starts with `#`.
    #[error("starts with '#', which is reserved for the queue's own items; choose another prefix")]
    Reserved,
    /// Contains a control character, which HTTP headers and log lines can't carry.
    #[error("contains a control character; use printable characters")]
    Control,
}

/// Maximum number of tasks per list that are logged individually.
pub(crate) const MAX_LOGGED: usize = 10;

impl TaskId {
    /// Formats the first ids of a list for the log; `None` if the list is empty.
    pub(crate) fn logged<'a>(ids: impl Iterator<Item = &'a Self>) -> Option<String> {
        let ids: Vec<_> = ids.take(MAX_LOGGED).map(Self::as_str).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    /// Checks a producer's id.
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidTaskId> {
        let id = id.into();
        if id.is_empty() {
            return Err(InvalidTaskId::Empty);
        }
        if id.len() > MAX_TASK_ID_BYTES {
            return Err(InvalidTaskId::TooLong(id.len()));
        }
        if id.starts_with(RESERVED_PREFIX) {
            return Err(InvalidTaskId::Reserved);
        }
        if id.chars().any(char::is_control) {
            return Err(InvalidTaskId::Control);
        }
        Ok(Self(id))
    }

    /// A new UUIDv7: unique, and sorted by creation time.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// An id from the table. It is not checked, because the item already exists.
    #[must_use]
    pub fn from_stored(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The task's group in a queue with groups: the part before the first [`GROUP_END`]. Ids
    /// without this character belong to the group without a name.
    #[must_use]
    pub fn group(&self) -> &str {
        self.0.split_once(GROUP_END).map_or("", |(group, _)| group)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ids_are_rejected_with_the_reason() {
        assert_eq!(TaskId::new(""), Err(InvalidTaskId::Empty));
        assert_eq!(TaskId::new("#x"), Err(InvalidTaskId::Reserved));
        assert_eq!(TaskId::new("a\nb"), Err(InvalidTaskId::Control));
        assert_eq!(
            TaskId::new("x".repeat(2049)),
            Err(InvalidTaskId::TooLong(2049))
        );
        assert!(TaskId::new("x".repeat(2048)).is_ok());
        assert!(TaskId::new("message#3").is_ok());
    }
}
