//! Notifications, which wake a processor.

pub mod sns;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::store::Source;

/// Publishes notifications. A notification can be delivered once, multiple times or not at all. The
/// protocol in [`wake`](crate::wake) handles each case.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Wakes `process-tasks`, through ProcessTasksTopic.
    async fn wake_processor(&self, notification: &Notification) -> Result<(), NotifyError>;

    /// Publishes a tail call: requests another turn from `trigger`, through TriggerTopic.
    async fn tail_call(&self, notification: &Notification) -> Result<(), NotifyError>;
}

/// The body of a notification. It only tells operators the origin of a wake-up. No decision depends
/// on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub reason: WakeReason,
    /// Id of the event that caused the notification.
    pub event: String,
    /// Trace header of the turn that publishes the tail call, if that turn's trace is recorded. The
    /// next turn starts its own trace, with a link to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeReason {
    Insert,
    /// A turn ended with tasks left.
    TailCall,
    /// A process returned a task and lost the processor lease.
    LateReturn,
    /// The sweep found due tasks and no active processor.
    Sweep,
    /// An operator requested a wake-up or resumed the queue.
    Operator,
}

impl WakeReason {
    /// Whether to publish even if another notification is in flight, because that one may be lost.
    pub(crate) fn insists(self) -> bool {
        self == Self::Sweep
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the notification to {topic} was not published")]
pub struct NotifyError {
    pub topic: String,
    pub source: Source,
}
