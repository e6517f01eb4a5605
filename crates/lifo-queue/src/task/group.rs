//! The name of a group of tasks, which is part of their ids.

use std::fmt;

use super::{GROUP_END, InvalidTaskId, TaskId};

/// Maximum length of a group name, in bytes: the limit of SQS's `MessageGroupId`.
pub const MAX_GROUP_BYTES: usize = 128;

/// The name of a group of tasks, for example of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupName(String);

/// Why a string is not a valid group name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGroupName {
    /// Empty or too long.
    #[error("has {0} bytes; give 1 to {MAX_GROUP_BYTES}, or omit it for no group")]
    Length(usize),
    /// Contains the character that separates the group from the rest of a task id.
    #[error(
        "contains '{GROUP_END}', which separates the group from the rest of a task id; choose another name"
    )]
    Slash,
    /// Not allowed at the start of a task id.
    #[error(transparent)]
    Id(InvalidTaskId),
}

impl GroupName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidGroupName`] describes the problem.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidGroupName> {
        let name = name.into();
        if name.is_empty() || name.len() > MAX_GROUP_BYTES {
            return Err(InvalidGroupName::Length(name.len()));
        }
        if name.contains(GROUP_END) {
            return Err(InvalidGroupName::Slash);
        }
        TaskId::new(name.as_str()).map_err(InvalidGroupName::Id)?;
        Ok(Self(name))
    }

    /// The id of a task in this group: `<group>/<id>`.
    ///
    /// # Errors
    /// [`InvalidTaskId`] if the id is too long.
    pub fn compose(&self, id: &TaskId) -> Result<TaskId, InvalidTaskId> {
        TaskId::new(format!("{}{GROUP_END}{id}", self.0))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
