//! Publishes assignments and expired calls to the topic, and sends expired calls to the dead-letter
//! queue, at least once.
//!
//! An event is written to the outbox in the transaction of its change and deleted after it is
//! published. If the process crashes in between, the sweep publishes the event, possibly a second
//! time. Subscribers therefore deduplicate by the call's id and the number of the assignment.

use async_trait::async_trait;

use crate::call::{Assignment, OutboxEntry, OutboxEvent};
use crate::queue::{AgentQueue, Result};

#[async_trait]
pub trait Publisher: Send + Sync {
    /// Publishes the events. Returns one result per event, in the same order.
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>>;
}

/// Error for an event that was not published. Assignments and expired calls stay in the outbox, and
/// the sweep publishes them. SQS redelivers an invalid message.
#[derive(Debug, thiserror::Error)]
#[error("call {call}: not published ({reason}); it is retried")]
pub struct PublishError {
    /// The call's id, or the deduplication id of an invalid message.
    pub call: String,
    pub reason: String,
}

/// Numbers of published and unpublished events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    pub published: u32,
    /// Expired calls sent to the dead-letter queue.
    pub dead_lettered: u32,
    /// Events that remain in the outbox.
    pub failed: u32,
}

impl std::ops::AddAssign for Published {
    fn add_assign(&mut self, other: Self) {
        self.published += other.published;
        self.dead_lettered += other.dead_lettered;
        self.failed += other.failed;
    }
}

impl AgentQueue {
    /// Publishes new assignments and deletes them from the outbox. If publishing fails, the
    /// assignments remain valid and the sweep publishes them.
    ///
    /// # Errors
    /// [`QueueError`](crate::queue::QueueError) if a published event remains and is republished.
    pub async fn publish_assignments(
        &self,
        publisher: &dyn Publisher,
        assignments: &[Assignment],
    ) -> Result<Published> {
        let outbox: Vec<_> = assignments
            .iter()
            .cloned()
            .map(OutboxEntry::assigned)
            .collect();
        self.publish(publisher, &outbox).await
    }

    /// Publishes outbox entries and deletes the published ones.
    pub(crate) async fn publish(
        &self,
        publisher: &dyn Publisher,
        outbox: &[OutboxEntry],
    ) -> Result<Published> {
        if outbox.is_empty() {
            return Ok(Published::default());
        }
        let events: Vec<_> = outbox.iter().map(|entry| entry.event.clone()).collect();
        let results = publisher.publish(&events).await;
        let mut published = Published::default();
        let mut done = vec![];
        for (entry, result) in outbox.iter().zip(results) {
            match (result, &entry.event) {
                (Ok(()), OutboxEvent::Assigned(made)) => {
                    tracing::info!(
                        agent = %made.agent_id,
                        call = %made.call_id,
                        criteria = %made.criteria,
                        "assignment published"
                    );
                    published.published += 1;
                }
                (Ok(()), OutboxEvent::Expired(_)) => {
                    let call = entry.event.call_id();
                    tracing::warn!(%call, "expired call sent to the dead-letter queue");
                    published.dead_lettered += 1;
                }
                (Err(error), _) => {
                    tracing::warn!(%error, "event not published; the next sweep retries");
                    published.failed += 1;
                    continue;
                }
            }
            done.push(entry.clone());
        }
        self.store.delete_published(&done).await?;
        Ok(published)
    }
}
