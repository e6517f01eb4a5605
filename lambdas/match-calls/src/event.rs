//! Parses the event of `match-calls`, a batch from an SQS FIFO queue.

use agent_queue::intake::Delivery;
use agent_queue::time::Micros;
use functions::event::EventError;
use functions::sqs::{self, Message};
use serde_json::Value;

const FIFO: &str = "messages of an SQS FIFO queue";

/// Reads the messages of a batch, in order.
///
/// # Errors
/// [`EventError`] when the event is not a batch from a FIFO queue.
pub(crate) fn read(event: Value) -> Result<Vec<Delivery>, EventError> {
    let messages = sqs::messages(event, FIFO)?;
    messages.into_iter().map(delivery).collect()
}

fn delivery(mut message: Message) -> Result<Delivery, EventError> {
    Ok(Delivery {
        sent: Micros::from_millis(message.attribute("SentTimestamp")?),
        sequence: message.attribute("SequenceNumber")?,
        received: message.attribute("ApproximateReceiveCount")?,
        group: message.attribute("MessageGroupId")?,
        deduplication: message.attribute("MessageDeduplicationId")?,
        id: message.id,
        receipt: message.receipt,
        body: message.body,
    })
}

#[cfg(test)]
mod tests;
