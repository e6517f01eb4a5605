//! Parses the event of `ingest-tasks`, a batch from an SQS standard queue.

use functions::event::EventError;
use functions::sqs::{self, Message};
use lifo_queue::ingest::Delivery;
use lifo_queue::time::Millis;
use serde_json::Value;

const STANDARD: &str = "messages of an SQS standard queue";

/// Reads the messages of a batch, in order.
///
/// # Errors
/// [`EventError`] when the event is not a batch from an SQS queue, or an attribute is missing.
pub(crate) fn read(event: Value) -> Result<Vec<Delivery>, EventError> {
    let messages = sqs::messages(event, STANDARD)?;
    messages.into_iter().map(delivery).collect()
}

fn delivery(mut message: Message) -> Result<Delivery, EventError> {
    Ok(Delivery {
        sent: Millis(message.attribute("SentTimestamp")?),
        first_received: Millis(message.attribute("ApproximateFirstReceiveTimestamp")?),
        receives: message.attribute("ApproximateReceiveCount")?,
        group: message.attribute("MessageGroupId").ok(),
        id: message.id,
        receipt: message.receipt,
        body: message.body,
    })
}

#[cfg(test)]
mod tests;
