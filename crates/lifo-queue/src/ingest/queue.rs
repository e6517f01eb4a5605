//! The operations of an ingest on its queues.

use std::time::Duration;

use async_trait::async_trait;

use crate::store::Source;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub message_id: String,
    /// `MessageGroupId` of the original message.
    pub group: Option<String>,
    /// The whole body of the message. If it is an array, an array of its invalid elements, as they
    /// were written.
    pub body: String,
    /// What is wrong with it, and the remedy.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    pub receipt: String,
    /// Time until the message becomes visible. It is rounded up to whole seconds.
    pub by: Duration,
}

/// The ingest queue and its dead-letter queue.
#[async_trait]
pub trait IngestQueue: Send + Sync {
    /// Sends messages to the dead-letter queue. Returns a result for each message, in order.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>>;

    /// Makes messages visible earlier than the queue's timeout. Returns the errors of the messages
    /// for which this failed.
    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source>;
}
