//! Parses SQS batches and reports which of their messages failed.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::Context;
use serde_json::Value;
use tokio::time::Instant;

use crate::event::{self, EventError};

/// Time assumed to be left if the deadline is in the past: `cargo lambda watch` sends one in 1970.
const NO_DEADLINE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Message {
    /// `messageId`, which identifies a failed message to Lambda.
    pub id: String,
    /// `receiptHandle`, which identifies the message when its visibility timeout is changed.
    pub receipt: String,
    pub body: String,
    attributes: HashMap<String, String>,
    expected: &'static str,
}

/// Reads the messages of a batch, in order.
///
/// # Errors
/// [`EventError`] when the event is not an SQS batch. The error names the `expected` event.
pub fn messages(event: Value, expected: &'static str) -> Result<Vec<Message>, EventError> {
    if !event::is_from(&event, "aws:sqs") {
        return Err(EventError::unexpected(&event, expected));
    }
    let event: SqsEvent =
        serde_json::from_value(event).map_err(|source| EventError::Shape { expected, source })?;
    let message = |message: SqsMessage| {
        let missing = |field| unusable(field, expected);
        Ok(Message {
            id: message.message_id.ok_or_else(|| missing("messageId"))?,
            receipt: message
                .receipt_handle
                .ok_or_else(|| missing("receiptHandle"))?,
            body: message.body.unwrap_or_default(),
            attributes: message.attributes,
            expected,
        })
    };
    event.records.into_iter().map(message).collect()
}

impl Message {
    /// Reads a system attribute, such as `SentTimestamp`.
    ///
    /// # Errors
    /// [`EventError`] when the attribute is missing or has another type.
    pub fn attribute<T: FromStr>(&mut self, name: &str) -> Result<T, EventError> {
        let value = self.attributes.remove(name);
        let value = value.and_then(|text| text.parse().ok());
        value.ok_or_else(|| unusable(name, self.expected))
    }
}

fn unusable(field: &str, expected: &'static str) -> EventError {
    EventError::Unexpected {
        found: format!("a message has no valid {field}"),
        expected,
    }
}

pub fn deadline(context: &Context, margin: Duration) -> Instant {
    let left = context.deadline().duration_since(SystemTime::now());
    let left = left.unwrap_or(NO_DEADLINE);
    Instant::now() + left.saturating_sub(margin)
}

/// Creates the response to a batch. SQS redelivers only the failed messages
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>).
pub fn response(failed: Vec<String>) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for id in failed {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = id;
        response.batch_item_failures.push(failure);
    }
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failures_use_the_partial_batch_response_format() {
        let response = serde_json::to_value(response(vec!["m1".to_owned()])).unwrap();
        assert_eq!(
            response,
            json!({"batchItemFailures": [{"itemIdentifier": "m1"}]})
        );
    }

    #[test]
    fn deadline_in_1970_counts_as_no_deadline() {
        let context = Context::default();
        let left = deadline(&context, Duration::from_secs(10)) - Instant::now();
        assert!(left > Duration::from_secs(45), "{left:?}");
    }
}
