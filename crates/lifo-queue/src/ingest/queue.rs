//! The operations of the ingest on its queues.

use std::time::Duration;

use async_trait::async_trait;

use super::Delivery;
use crate::store::Source;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub message_id: String,
    /// `MessageGroupId` of the original message.
    pub group: Option<String>,
    /// The entire message body or, if the body is an array, an array of its invalid elements in
    /// their original form.
    pub body: String,
    /// The error and its fix.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    pub receipt: String,
    /// Time until the message becomes visible, rounded up to whole seconds.
    pub by: Duration,
}

/// The ingest queue and its dead-letter queue.
#[async_trait]
pub trait IngestQueue: Send + Sync {
    /// Sends messages to the dead-letter queue. Returns one result per message, in order.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>>;

    /// Makes messages visible before the queue's visibility timeout ends. Returns the errors of the
    /// messages that failed.
    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source>;

    /// Receives up to ten visible messages without waiting, and hides them for this time, rounded
    /// up to whole seconds.
    async fn receive(&self, hidden: Duration) -> Result<Vec<Delivery>, Source>;

    /// Deletes the messages with these receipts. Returns the errors of the messages that failed.
    async fn delete(&self, receipts: &[String]) -> Vec<Source>;
}
