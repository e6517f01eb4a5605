//! The group of a task, which is a part of its id.

use crate::task::{GROUP_END, InvalidTaskId, TaskId};

/// Longest name of a group, in bytes: that of SQS's `MessageGroupId`.
pub const MAX_GROUP_BYTES: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGroup {
    #[error(
        "is given, but this queue has no groups; leave it out, or set processing.groups of the queue"
    )]
    Off,
    #[error("is {0}, not a string; quote it")]
    Type(&'static str),
    #[error("has {0} bytes; give 1 to {MAX_GROUP_BYTES}, or leave it out for no group")]
    Length(usize),
    #[error("contains '{GROUP_END}', which ends the group in a task id; choose another name")]
    Slash,
    /// A task id cannot begin with it.
    #[error(transparent)]
    Id(InvalidTaskId),
}

pub(super) struct Group<'a>(&'a str);

impl<'a> Group<'a> {
    pub(super) fn new(name: &'a str) -> Result<Self, InvalidGroup> {
        if name.is_empty() || name.len() > MAX_GROUP_BYTES {
            return Err(InvalidGroup::Length(name.len()));
        }
        if name.contains(GROUP_END) {
            return Err(InvalidGroup::Slash);
        }
        TaskId::new(name).map_err(InvalidGroup::Id)?;
        Ok(Self(name))
    }

    /// The id of a task of this group: `<group>/<id>`.
    pub(super) fn compose(&self, id: &TaskId) -> Result<TaskId, InvalidTaskId> {
        TaskId::new(format!("{}{GROUP_END}{id}", self.0))
    }
}
