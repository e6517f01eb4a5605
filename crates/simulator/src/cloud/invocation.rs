//! What invokes a function, and how that ends.

use lifo_queue::notify::WakeReason;

/// What invokes a function.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The same at every retry and duplicate.
    pub(crate) message_id: String,
    pub(crate) reason: WakeReason,
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Failed,
    Died,
}
