//! Limits of Amazon SQS and Amazon SNS batches, and the outcome of each batch entry.

use std::time::Duration;

use aws_sdk_sns::types as sns;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types as sqs;
use backon::ExponentialBuilder;

/// Maximum number of messages per batch
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>,
/// <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>).
pub const MAX_MESSAGES: usize = 10;

/// Maximum size in bytes of one SQS message, and of all messages of one SendMessageBatch together:
/// 1 MiB, according to the SQS page above. A queue with a lower limit rejects the message.
pub const MAX_BYTES: usize = 1_048_576;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Rejected {
    /// The service's error code; `NoResult` if the response does not mention the entry.
    pub code: String,
    pub message: String,
    /// Whether the sender caused the failure, so that a request with changed content may succeed.
    pub sender_fault: bool,
}

impl Rejected {
    fn new(code: &str, message: Option<&str>, sender_fault: bool) -> Self {
        Self {
            code: code.to_owned(),
            message: message.unwrap_or("no reason given").to_owned(),
            sender_fault,
        }
    }
}

/// A failed entry in a batch response.
pub trait Failure {
    fn id(&self) -> &str;
    fn rejected(&self) -> Rejected;
}

impl Failure for sqs::BatchResultErrorEntry {
    fn id(&self) -> &str {
        self.id()
    }

    fn rejected(&self) -> Rejected {
        Rejected::new(self.code(), self.message(), self.sender_fault())
    }
}

impl Failure for sns::BatchResultErrorEntry {
    fn id(&self) -> &str {
        self.id()
    }

    fn rejected(&self) -> Rejected {
        Rejected::new(self.code(), self.message(), self.sender_fault())
    }
}

/// Groups messages in order into SQS batches within the limits on number and bytes. A message above
/// the byte limit gets its own batch.
pub fn batches<T>(
    messages: impl IntoIterator<Item = T>,
    bytes: impl Fn(&T) -> usize,
) -> impl Iterator<Item = Vec<T>> {
    let mut messages = messages.into_iter().peekable();
    std::iter::from_fn(move || {
        let mut batch = vec![messages.next()?];
        let mut size = bytes(&batch[0]);
        while let Some(next) =
            messages.next_if(|next| batch.len() < MAX_MESSAGES && size + bytes(next) <= MAX_BYTES)
        {
            size += bytes(&next);
            batch.push(next);
        }
        Some(batch)
    })
}

/// Returns the outcome of each entry of a batch with the ids 0, 1, and so on.
///
/// The service reports one result per entry. An entry that the response does not mention was not
/// accepted.
pub fn outcomes<'a>(
    entries: usize,
    taken: impl IntoIterator<Item = &'a str>,
    failed: &[impl Failure],
) -> Vec<Result<(), Rejected>> {
    let mut outcomes = vec![Err(Rejected::new("NoResult", None, false)); entries];
    let mut set = |id: &str, outcome| {
        let place = id.parse().ok().and_then(|id: usize| outcomes.get_mut(id));
        if let Some(place) = place {
            *place = outcome;
        }
    };
    for id in taken {
        set(id, Ok(()));
    }
    for failure in failed {
        set(failure.id(), Err(failure.rejected()));
    }
    outcomes
}

/// Converts a text to an SQS message attribute.
///
/// # Errors
/// [`BuildError`] never, because the only required field is set.
pub fn text(value: &str) -> Result<sqs::MessageAttributeValue, BuildError> {
    sqs::MessageAttributeValue::builder()
        .data_type("String")
        .string_value(value)
        .build()
}

/// Returns the delays before resending entries that the service rejected in a successful request.
/// The client itself retries failed requests.
pub fn delays() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(2))
        .with_max_times(3)
        .with_jitter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_missing_from_the_response_counts_as_failed() {
        let failed = sqs::BatchResultErrorEntry::builder()
            .id("1")
            .code("InternalError")
            .sender_fault(false)
            .build()
            .unwrap();
        let outcomes = outcomes(3, ["0", "7", "x"], &[failed]);
        let codes: Vec<_> = outcomes
            .iter()
            .map(|outcome| outcome.as_ref().err().map(|error| error.code.as_str()))
            .collect();
        assert_eq!(codes, [None, Some("InternalError"), Some("NoResult")]);
    }
}
