//! The event of `match-calls`: a batch of an SQS FIFO queue.

use std::time::Duration;

use agent_queue::intake::Delivery;
use agent_queue::time::Micros;
use function::event::EventError;
use function::sqs::{self, Message};
use serde_json::Value;

const FIFO: &str = "messages of an SQS FIFO queue";

/// For a match that is under way, which repeats itself for some seconds at most, and for telling.
pub(crate) const MARGIN: Duration = Duration::from_secs(6);

/// The messages of a batch, in their order.
///
/// # Errors
/// [`EventError`] when this is no batch of a FIFO queue.
pub(crate) fn read(event: Value) -> Result<Vec<Delivery>, EventError> {
    let messages = sqs::messages(event, FIFO)?;
    messages.into_iter().map(delivery).collect()
}

fn delivery(mut message: Message) -> Result<Delivery, EventError> {
    Ok(Delivery {
        sent: Micros::from_millis(message.attribute("SentTimestamp")?),
        sequence: message.attribute("SequenceNumber")?,
        group: message.attribute("MessageGroupId")?,
        deduplication: message.attribute("MessageDeduplicationId")?,
        id: message.id,
        body: message.body,
    })
}

#[cfg(test)]
mod tests;
