//! The group of a new task.

use crate::task::InvalidGroupName;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGroup {
    #[error(
        "is given, but this queue has no groups; omit it, or set processing.groups of the queue"
    )]
    Off,
    #[error("is {0}, not a string; quote it")]
    Type(&'static str),
    #[error(transparent)]
    Name(#[from] InvalidGroupName),
}
