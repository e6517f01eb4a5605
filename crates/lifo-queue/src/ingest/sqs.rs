//! The ingest queue on Amazon SQS. Requests contain a maximum of ten messages
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws::batch::{self, MAX_MESSAGES, Rejected, text};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry,
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName as Attribute,
    SendMessageBatchRequestEntry,
};
use futures::StreamExt;

use super::{DeadLetter, Delivery, IngestQueue, Postponed};
use crate::store::Source;
use crate::time::Millis;

/// The message attribute with the reason why a message is in the dead-letter queue. A message that
/// SQS itself moved there does not have this attribute.
pub const REASON: &str = "reason";

/// The message attribute with the id of the original message.
pub const MESSAGE_ID: &str = "messageId";

/// Allowance for the names and types of the two attributes, in bytes. Their values are counted
/// exactly.
const ATTRIBUTE_BYTES: usize = 64;

const PARALLEL: usize = 8;

const MAX_VISIBILITY: Duration = Duration::from_secs(12 * 3_600);

#[derive(Clone, Debug)]
pub struct SqsIngestQueue {
    client: Client,
    queue_url: String,
    dead_letters_url: String,
}

#[derive(Clone, Debug, thiserror::Error)]
enum NotDone {
    #[error("SQS rejected the request for this message: {0}")]
    Rejected(Rejected),
    #[error("the SQS request failed")]
    Failed(#[source] Arc<Source>),
}

/// The system attributes of a [`Delivery`].
const ATTRIBUTES: [Attribute; 4] = [
    Attribute::SentTimestamp,
    Attribute::ApproximateFirstReceiveTimestamp,
    Attribute::ApproximateReceiveCount,
    Attribute::MessageGroupId,
];

impl SqsIngestQueue {
    /// Creates a client for the queues with these URLs. Both must be standard queues.
    pub fn new(client: Client, queue_url: String, dead_letters_url: String) -> Self {
        Self {
            client,
            queue_url,
            dead_letters_url,
        }
    }

    /// Sends a batch. If no message was accepted, sends each one separately: the queue's maximum
    /// message size may be lower than the SQS maximum, and one of the messages may exceed it.
    async fn send(&self, batch: Vec<&DeadLetter>) -> Vec<Result<(), NotDone>> {
        let results = self.send_batch(&batch).await;
        if batch.len() == 1 || results.iter().any(Result::is_ok) {
            return results;
        }
        let mut alone = Vec::with_capacity(batch.len());
        for letter in batch {
            alone.extend(self.send_batch(&[letter]).await);
        }
        alone
    }

    async fn send_batch(&self, batch: &[&DeadLetter]) -> Vec<Result<(), NotDone>> {
        let entries = batch
            .iter()
            .enumerate()
            .map(|(id, letter)| entry(id, letter));
        let result = async {
            let entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            let call = self.client.send_message_batch();
            let call = call.queue_url(&self.dead_letters_url);
            let sent = call.set_entries(Some(entries)).send().await;
            let sent = sent.map_err(failed)?;
            let taken = sent.successful.into_iter().map(|entry| entry.id);
            Ok((taken.collect(), sent.failed))
        };
        verdicts(batch.len(), result.await)
    }

    async fn change(&self, batch: &[Postponed]) -> Vec<Result<(), NotDone>> {
        let entries = batch.iter().enumerate().map(|(id, message)| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(id.to_string())
                .receipt_handle(&message.receipt)
                .visibility_timeout(whole_seconds(message.by))
                .build()
        });
        let result = async {
            let entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            let call = self.client.change_message_visibility_batch();
            let call = call.queue_url(&self.queue_url);
            let changed = call.set_entries(Some(entries)).send().await;
            let changed = changed.map_err(failed)?;
            let taken = changed.successful.into_iter().map(|entry| entry.id);
            Ok((taken.collect(), changed.failed))
        };
        verdicts(batch.len(), result.await)
    }

    async fn delete_batch(&self, receipts: &[String]) -> Vec<Result<(), NotDone>> {
        let entries = receipts.iter().enumerate().map(|(id, receipt)| {
            DeleteMessageBatchRequestEntry::builder()
                .id(id.to_string())
                .receipt_handle(receipt)
                .build()
        });
        let result = async {
            let entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            let call = self.client.delete_message_batch();
            let call = call.queue_url(&self.queue_url);
            let deleted = call.set_entries(Some(entries)).send().await;
            let deleted = deleted.map_err(failed)?;
            let taken = deleted.successful.into_iter().map(|entry| entry.id);
            Ok((taken.collect(), deleted.failed))
        };
        verdicts(receipts.len(), result.await)
    }
}

#[async_trait]
impl IngestQueue for SqsIngestQueue {
    async fn bury(&self, letters: &[DeadLetter]) -> Vec<Result<(), Source>> {
        let sent: Vec<_> = batches(letters).map(|batch| self.send(batch)).collect();
        let results: Vec<_> = futures::stream::iter(sent)
            .buffered(PARALLEL)
            .collect()
            .await;
        results
            .into_iter()
            .flatten()
            .map(|result| result.map_err(Source::from))
            .collect()
    }

    async fn postpone(&self, messages: &[Postponed]) -> Vec<Source> {
        let mut changed = vec![];
        for batch in messages.chunks(MAX_MESSAGES) {
            changed.push(self.change(batch));
        }
        errors(changed).await
    }

    async fn receive(&self, hidden: Duration) -> Result<Vec<Delivery>, Source> {
        let most = i32::try_from(MAX_MESSAGES)?;
        let call = self.client.receive_message().queue_url(&self.queue_url);
        let call = call
            .max_number_of_messages(most)
            .wait_time_seconds(0)
            .visibility_timeout(whole_seconds(hidden))
            .set_message_system_attribute_names(Some(ATTRIBUTES.to_vec()));
        let received = call.send().await?;
        let messages = received.messages.unwrap_or_default().into_iter();
        Ok(messages.filter_map(delivery).collect())
    }

    async fn delete(&self, receipts: &[String]) -> Vec<Source> {
        let mut deleted = vec![];
        for batch in receipts.chunks(MAX_MESSAGES) {
            deleted.push(self.delete_batch(batch));
        }
        errors(deleted).await
    }
}

/// Executes batch requests, several at a time. Returns the errors of the entries that failed.
async fn errors(requests: Vec<impl Future<Output = Vec<Result<(), NotDone>>>>) -> Vec<Source> {
    let results: Vec<_> = futures::stream::iter(requests)
        .buffer_unordered(PARALLEL)
        .collect()
        .await;
    let failed = results.into_iter().flatten().filter_map(Result::err);
    failed.map(Source::from).collect()
}

/// Reads a received message. Without its attributes, the message stays hidden and is redelivered.
fn delivery(message: Message) -> Option<Delivery> {
    let attributes = message.attributes.unwrap_or_default();
    let number = |name: &Attribute| attributes.get(name)?.parse::<i64>().ok();
    let read = || {
        Some(Delivery {
            sent: Millis(number(&Attribute::SentTimestamp)?),
            first_received: Millis(number(&Attribute::ApproximateFirstReceiveTimestamp)?),
            receives: u32::try_from(number(&Attribute::ApproximateReceiveCount)?).ok()?,
            group: attributes.get(&Attribute::MessageGroupId).cloned(),
            id: message.message_id.clone()?,
            receipt: message.receipt_handle?,
            body: message.body.unwrap_or_default(),
        })
    };
    let delivery = read();
    if delivery.is_none() {
        tracing::error!(
            message_id = message.message_id,
            "received message without its id, receipt or attributes; SQS redelivers it"
        );
    }
    delivery
}

fn failed(error: impl Into<Source>) -> NotDone {
    NotDone::Failed(Arc::new(error.into()))
}

/// Returns the result of each entry, derived from the ids of the accepted and the failed entries.
fn verdicts(
    entries: usize,
    result: Result<(Vec<String>, Vec<BatchResultErrorEntry>), NotDone>,
) -> Vec<Result<(), NotDone>> {
    match result {
        Err(error) => vec![Err(error); entries],
        Ok((taken, failed)) => {
            let taken = taken.iter().map(String::as_str);
            let outcomes = batch::outcomes(entries, taken, &failed);
            let outcomes = outcomes.into_iter();
            outcomes.map(|one| one.map_err(NotDone::Rejected)).collect()
        }
    }
}

fn entry(id: usize, letter: &DeadLetter) -> Result<SendMessageBatchRequestEntry, BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id(id.to_string())
        .message_body(&letter.body)
        .set_message_group_id(letter.group.clone())
        .message_attributes(REASON, text(&letter.reason)?)
        .message_attributes(MESSAGE_ID, text(&letter.message_id)?)
        .build()
}

/// Splits the messages into batches within the SQS limits.
fn batches(letters: &[DeadLetter]) -> impl Iterator<Item = Vec<&DeadLetter>> {
    batch::batches(letters, |letter| {
        letter.body.len() + letter.reason.len() + letter.message_id.len() + ATTRIBUTE_BYTES
    })
}

fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.min(MAX_VISIBILITY).as_secs_f64().ceil();
    seconds as i32
}

#[cfg(test)]
mod tests;
