//! Events that invoke functions, and the outcomes of invocations.

use lifo_queue::notify::WakeReason;

#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Id of the message, identical for all its retries and duplicates.
    pub(crate) message_id: String,
    pub(crate) reason: WakeReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Failed,
    Died,
}
