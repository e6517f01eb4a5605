//! Parses incoming events.

use aws_lambda_events::sns::SnsEvent;
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("a field of the event is missing or invalid (expected: {expected})")]
    Shape {
        expected: &'static str,
        /// The parse error, which names the invalid field.
        source: serde_json::Error,
    },
    #[error("field Records is empty; {expected} has at least one record")]
    NoRecords { expected: &'static str },
    #[error("{found}; send {expected}")]
    Unexpected {
        found: String,
        expected: &'static str,
    },
}

impl EventError {
    /// Creates the error for an event of a kind other than `expected`. It names the event's fields
    /// but not their values.
    pub fn unexpected(event: &Value, expected: &'static str) -> Self {
        let found = match event {
            Value::Null => "the event is null".to_owned(),
            Value::Bool(_) => "the event is a boolean".to_owned(),
            Value::Number(_) => "the event is a number".to_owned(),
            Value::String(_) => "the event is a string".to_owned(),
            Value::Array(_) => "the event is an array".to_owned(),
            Value::Object(fields) => {
                let names: Vec<_> = fields.keys().take(MAX_NAMES).map(String::as_str).collect();
                format!("the event's fields are {names:?}")
            }
        };
        Self::Unexpected { found, expected }
    }
}

/// Maximum number of fields that the error for an unexpected event names.
const MAX_NAMES: usize = 10;

const SNS: &str = "Amazon SNS";

/// Returns whether `event` is from `source`, such as `aws:sns` or `aws:dynamodb`. Reads only the
/// first record, because Lambda never mixes sources in one event. SNS capitalizes the field name,
/// and DynamoDB does not.
pub fn is_from(event: &Value, source: &str) -> bool {
    let record = &event["Records"][0];
    record["EventSource"] == source || record["eventSource"] == source
}

/// Returns the id of the message in a notification: the same in each of Lambda's retries
/// (<https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html>).
///
/// SNS invokes a function once per message. If an event ever has multiple messages, the id of the
/// first is enough, because one wake-up or turn serves all tasks.
///
/// # Errors
/// [`EventError`] when the event is not an SNS notification.
pub fn sns_message_id(event: Value) -> Result<String, EventError> {
    let event: SnsEvent = serde_json::from_value(event).map_err(|source| EventError::Shape {
        expected: SNS,
        source,
    })?;
    if event.records.len() > 1 {
        tracing::warn!(
            records = event.records.len(),
            "multiple notifications in one event"
        );
    }
    let first = event
        .records
        .into_iter()
        .next()
        .ok_or(EventError::NoRecords { expected: SNS })?;
    Ok(first.sns.message_id)
}
