//! Events as they arrive.

use aws_lambda_events::sns::SnsEvent;
use serde_json::Value;

/// An event that no rule covers; the message names the field and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// Not of the shape its source should give it.
    #[error("the event is not an event of {expected}")]
    Shape {
        /// What it should be.
        expected: &'static str,
        /// What is wrong with it, by field.
        source: serde_json::Error,
    },
    /// No record in it.
    #[error("field Records is empty; {expected} brings at least one record")]
    NoRecords {
        /// What it should be.
        expected: &'static str,
    },
    /// Of another kind.
    #[error("{found}; send {expected}")]
    Unexpected {
        /// What is there.
        found: String,
        /// What should be.
        expected: &'static str,
    },
}

impl EventError {
    /// An event of another kind than `expected`; names its fields, not their values.
    #[must_use]
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

/// How many fields of an unexpected event are named.
const MAX_NAMES: usize = 10;

const SNS: &str = "Amazon SNS";

/// Whether `event` claims to come from `source`, such as `aws:sns` or `aws:dynamodb`: by its
/// first record, because Lambda never mixes sources in one event. (SNS spells the field with a
/// capital, DynamoDB without.)
#[must_use]
pub fn is_from(event: &Value, source: &str) -> bool {
    let record = &event["Records"][0];
    record["EventSource"] == source || record["eventSource"] == source
}

/// The id of the message that a notification brings: the same at each of Lambda's retries
/// (<https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html>).
///
/// SNS invokes a function once for each message. Should it ever bring several, the first
/// stands for all, because a wake-up or a turn serves every task there is.
///
/// # Errors
/// [`EventError`] when the event is no SNS notification.
pub fn sns_message_id(event: Value) -> Result<String, EventError> {
    let event: SnsEvent = serde_json::from_value(event).map_err(|source| EventError::Shape {
        expected: SNS,
        source,
    })?;
    if event.records.len() > 1 {
        tracing::warn!(
            records = event.records.len(),
            "several notifications in one event"
        );
    }
    let first = event
        .records
        .into_iter()
        .next()
        .ok_or(EventError::NoRecords { expected: SNS })?;
    Ok(first.sns.message_id)
}
