//! What an ingest asks of its queues.

use std::time::Duration;

use async_trait::async_trait;

use crate::store::Source;

/// A message for the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The message it came with.
    pub message_id: String,
    /// The whole body; of an array, in which other elements are tasks, an array of those that
    /// are none, as they were written.
    pub body: String,
    /// What is wrong with it, and the remedy.
    pub reason: String,
}

/// A message to be redelivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// Its receipt handle.
    pub receipt: String,
    /// It becomes visible after so long, in whole seconds rounded up.
    pub by: Duration,
}

/// The ingest queue and its dead-letter queue.
#[async_trait]
pub trait IngestQueue: Send + Sync {
    /// Sends messages to the dead-letter queue; answers for each by itself, in order.
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>>;

    /// Makes messages visible again earlier than the queue would; why it failed, for each of
    /// which it did.
    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source>;
}
