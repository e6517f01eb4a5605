//! Notifications: how a processor is woken.

pub mod sns;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::store::Source;

/// Sends wake-ups. Delivery is at least once or not at all; the protocol in
/// [`wake`](crate::wake) lives with both.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Wakes `process-tasks`, through ProcessTasksTopic.
    async fn wake_processor(&self, notification: &Notification) -> Result<(), NotifyError>;

    /// Tail-calls: asks `trigger` for another turn, through TriggerTopic.
    async fn tail_call(&self, notification: &Notification) -> Result<(), NotifyError>;
}

/// The body of a notification. Nothing decides by it; it tells an operator where a wake-up
/// came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// Why.
    pub reason: WakeReason,
    /// The event it stems from.
    pub event: String,
    /// The trace header of the turn that tail-calls, if its trace is recorded: the next turn starts a trace of its
    /// own, and links to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Why a processor is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeReason {
    /// Tasks were inserted.
    Insert,
    /// A turn ended with work left.
    TailCall,
    /// A task was returned by a process that no longer has the processor lease.
    LateGiveBack,
    /// The sweep found due tasks and no active processor.
    Sweep,
    /// An operator asked.
    Operator,
}

impl WakeReason {
    /// Whether to notify although another notification may be on its way: it may be lost.
    pub(crate) fn insists(self) -> bool {
        self == Self::Sweep
    }
}

/// A notification that was not sent.
#[derive(Debug, thiserror::Error)]
#[error("the notification to {topic} was not published")]
pub struct NotifyError {
    /// Where to.
    pub topic: String,
    /// What the client said.
    pub source: Source,
}
