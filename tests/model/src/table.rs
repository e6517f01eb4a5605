//! What the table holds: the tasks, and the control item.

/// Position of a task in age: a higher number is newer.
pub type TaskNumber = u8;
/// Identity of a message on the process topic; a redelivery keeps it.
pub type MessageId = u8;
/// Identity of a stream batch, tail call or sweep; a retry keeps it (rule 9).
pub type EventId = u8;

/// Who holds a lease, of the processor or of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The invocation attempt now running in this slot: a fresh UUID for each attempt (rule 2).
    Attempt(u8),
    /// The message id. Only a wrong protocol does this.
    Message(MessageId),
    /// An attempt that is over. Its UUID is free.
    Gone,
}

/// `taskStatus`, with SUCCESS and FAILURE as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not inserted yet.
    Absent,
    /// PENDING and due.
    Pending,
    /// TAKEN, with the lease token of its taker.
    Taken {
        /// Whose token the item carries.
        token: Owner,
        /// False once `leaseUntil` has passed.
        live: bool,
    },
    /// SUCCESS or FAILURE.
    Done,
}

/// A task as the table has it, and as the index shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// What the table has.
    pub status: Status,
    /// Whether a query for PENDING on the index returns it.
    pub shown: bool,
    /// A newer state of its key came while it is TAKEN.
    pub overtaken: bool,
}

impl Task {
    /// Whether the index has yet to catch up with the table.
    pub fn lags(&self) -> bool {
        self.shown != (self.status == Status::Pending)
    }
}

/// The control item, `#processor`, without its counter (see the module).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Control {
    /// `owner` and `messageId`, while a processor is registered.
    pub owner: Option<(Owner, MessageId)>,
    /// False once `leaseUntil` has passed, and while no processor is registered.
    pub live: bool,
    /// The start marker (rule 9): the event that has announced a notification.
    pub marker: Option<EventId>,
    /// Consecutive turns that ended by time and settled nothing (rule 10).
    pub idle_turns: u8,
}
