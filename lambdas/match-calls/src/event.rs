//! The event of `match-calls`: a batch of an SQS FIFO queue.

use std::time::{Duration, SystemTime};

use agent_queue::intake::Delivery;
use agent_queue::time::Micros;
use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use function::Context;
use function::event::EventError;
use serde_json::Value;
use tokio::time::Instant;

const FIFO: &str = "messages of an SQS FIFO queue";

/// For a match that is under way, which repeats itself for some seconds at most, and for telling.
const MARGIN: Duration = Duration::from_secs(6);

/// Where a deadline is none: `cargo lambda watch` sends one in 1970.
const NO_DEADLINE: Duration = Duration::from_secs(60);

/// The messages of a batch, in their order.
///
/// # Errors
/// [`EventError`] when this is no batch of a FIFO queue.
pub(crate) fn read(event: Value) -> Result<Vec<Delivery>, EventError> {
    if !function::event::is_from(&event, "aws:sqs") {
        return Err(EventError::unexpected(&event, FIFO));
    }
    let event: SqsEvent = serde_json::from_value(event).map_err(|source| EventError::Shape {
        expected: FIFO,
        source,
    })?;
    event.records.into_iter().map(delivery).collect()
}

fn delivery(message: SqsMessage) -> Result<Delivery, EventError> {
    let missing = |field: &str| EventError::Unexpected {
        found: format!("a message has no {field}"),
        expected: FIFO,
    };
    let id = message.message_id.ok_or_else(|| missing("messageId"))?;
    let mut attributes = message.attributes;
    let mut attribute = |name: &str| attributes.remove(name).ok_or_else(|| missing(name));
    let sent = attribute("SentTimestamp")?;
    let sent = sent
        .parse()
        .map_err(|_| missing("SentTimestamp in milliseconds"))?;
    let sequence = attribute("SequenceNumber")?;
    let sequence = sequence
        .parse()
        .map_err(|_| missing("SequenceNumber of digits"))?;
    Ok(Delivery {
        id,
        sequence,
        body: message.body.unwrap_or_default(),
        group: attribute("MessageGroupId")?,
        deduplication: attribute("MessageDeduplicationId")?,
        sent: Micros::from_millis(sent),
    })
}

/// When no further message is begun.
pub(crate) fn deadline(context: &Context) -> Instant {
    let left = context.deadline().duration_since(SystemTime::now());
    let left = left.unwrap_or(NO_DEADLINE);
    Instant::now() + left.saturating_sub(MARGIN)
}

/// Exactly these come again.
pub(crate) fn response(failed: Vec<String>) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for id in failed {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = id;
        response.batch_item_failures.push(failure);
    }
    response
}

#[cfg(test)]
mod tests;
