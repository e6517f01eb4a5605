//! The content of the table: the tasks and the control item.

/// A task's position by age; a higher number is newer.
pub type TaskNumber = u8;
/// The id of a message on the process topic. A redelivery keeps the id.
pub type MessageId = u8;
/// The id of a stream batch, tail call or sweep. A retry keeps the id (rule 9).
pub type EventId = u8;

/// The holder of a processor lease or of a task lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The invocation attempt that runs in this slot. In the code, each attempt has a new UUID
    /// (rule 2).
    Attempt(u8),
    /// The message id, which only a broken protocol uses as the owner.
    Message(MessageId),
    /// An attempt that has ended.
    Gone,
}

/// The task attribute `taskStatus`. In the model, SUCCESS and FAILURE are one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Absent,
    Pending,
    Taken {
        /// The holder of the lease.
        token: Owner,
        /// False once `leaseUntil` has passed.
        live: bool,
    },
    /// SUCCESS or FAILURE.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    pub status: Status,
    /// Whether an index query for PENDING tasks returns the task.
    pub shown: bool,
    /// Whether a newer state of the task's key was written after the task became TAKEN.
    pub overtaken: bool,
}

impl Task {
    pub fn lags(&self) -> bool {
        self.shown != (self.status == Status::Pending)
    }
}

/// The control item `#processor`, without its counter; see [`crate::state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Control {
    /// `owner` and `messageId`, while a processor is registered.
    pub owner: Option<(Owner, MessageId)>,
    /// False once `leaseUntil` has passed, and while no processor is registered.
    pub live: bool,
    /// The event that set the start marker and publishes a notification (rule 9).
    pub marker: Option<EventId>,
    /// Number of consecutive turns that ended by rule 6 without a settled task (rule 10).
    pub idle_turns: u8,
}
