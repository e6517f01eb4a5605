//! Publishes through SNS and SQS, in batches of ten, the limit of both services
//! (<https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>,
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>).

use ::aws::batch::{self, Rejected, text};
use ::aws::error_chain;
use async_trait::async_trait;
use aws_sdk_sns::error::ProvideErrorMetadata;
use aws_sdk_sns::types as sns;
use aws_sdk_sqs::types as sqs;
use futures::{FutureExt, StreamExt, stream};

use crate::call::{ExpiredCall, OutboxEvent};
use crate::intake::{DeadLetters, Delivery};
use crate::publish::{PublishError, Publisher};

const PARALLEL: usize = 8;

/// Message attribute for the call's id. Subscribers deduplicate by the id and [`ASSIGNMENT`].
pub const CALL_ID: &str = "callId";
/// Message attribute for the number of the call's assignment.
pub const ASSIGNMENT: &str = "assignment";

/// Message attribute for the kind of event: `assigned` or `expired`.
pub const EVENT: &str = "event";

/// Message attribute for the reason why a message is in the dead-letter queue.
pub const REASON: &str = "reason";

/// Prefixes of the SQS error codes for a message that is too large with its attributes or contains
/// characters that SQS rejects
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>).
const REJECTED: [&str; 2] = ["InvalidParameterValue", "InvalidMessageContents"];

/// Maximum length of a reason, in characters. A reason can quote a body of any length.
const MAX_REASON: usize = 1_000;

pub const WAITED_TOO_LONG: &str = "no agent was free within maxWait";

/// Publishes assignments and expired calls to a topic, and sends expired calls and invalid messages
/// to a FIFO dead-letter queue.
#[derive(Clone, Debug)]
pub struct AwsPublisher {
    sns: aws_sdk_sns::Client,
    sqs: aws_sdk_sqs::Client,
    topic: String,
    dead_letters: String,
}

impl AwsPublisher {
    /// Creates a publisher for the topic with this ARN and the dead-letter queue with this URL.
    pub fn new(
        sns: aws_sdk_sns::Client,
        sqs: aws_sdk_sqs::Client,
        topic: impl Into<String>,
        dead_letters: impl Into<String>,
    ) -> Self {
        Self {
            sns,
            sqs,
            topic: topic.into(),
            dead_letters: dead_letters.into(),
        }
    }

    /// Publishes events to the topic.
    async fn announce(&self, messages: &[(usize, &OutboxEvent)]) -> Results {
        let entries = messages.iter().enumerate().map(|(id, (_, event))| {
            let entry = sns::PublishBatchRequestEntry::builder().id(id.to_string());
            let call = attribute("String", event.call_id().as_str())?;
            let entry = entry.message_attributes(CALL_ID, call);
            let (entry, kind, message) = match event {
                OutboxEvent::Assigned(assignment) => {
                    let number = attribute("Number", assignment.number.to_string())?;
                    let entry = entry.message_attributes(ASSIGNMENT, number);
                    (entry, "assigned", serde_json::to_string(assignment))
                }
                OutboxEvent::Expired(call) => (entry, "expired", serde_json::to_string(call)),
            };
            entry
                .message_attributes(EVENT, attribute("String", kind)?)
                .message(message.map_err(|e| e.to_string())?)
                .build()
                .map_err(|e| e.to_string())
        });
        let sent = async {
            let entries = entries.collect::<Result<Vec<_>, String>>()?;
            let request = self.sns.publish_batch().topic_arn(&self.topic);
            let request = request.set_publish_batch_request_entries(Some(entries));
            let response = request.send().await.map_err(|e| error_chain::chain(&e))?;
            let taken = response.successful().iter().filter_map(|entry| entry.id());
            Ok(batch::outcomes(messages.len(), taken, response.failed()))
        };
        results(messages, |event| event.call_id().as_str(), sent.await)
    }

    async fn expired(&self, messages: &[(usize, &ExpiredCall)]) -> Results {
        let entries = messages.iter().enumerate().map(|(id, (_, call))| {
            let body = serde_json::to_string(call).map_err(|e| e.to_string())?;
            sqs::SendMessageBatchRequestEntry::builder()
                .id(id.to_string())
                .message_body(body)
                .message_group_id(call.criteria.to_string())
                // Must differ from the call's id, which may be the deduplication id of a rejected
                // message.
                .message_deduplication_id(format!("{}.expired", call.call_id))
                .message_attributes(REASON, text(WAITED_TOO_LONG).map_err(|e| e.to_string())?)
                .build()
                .map_err(|e| e.to_string())
        });
        let sent = async {
            let entries = entries.collect::<Result<Vec<_>, String>>()?;
            let request = self.sqs.send_message_batch().queue_url(&self.dead_letters);
            let sent = request.set_entries(Some(entries)).send().await;
            let response = sent.map_err(|e| error_chain::chain(&e))?;
            let taken = response.successful().iter().map(|entry| entry.id());
            Ok(batch::outcomes(messages.len(), taken, response.failed()))
        };
        results(messages, |call| call.call_id.as_str(), sent.await)
    }
}

#[async_trait]
impl DeadLetters for AwsPublisher {
    /// Sends the message with the reason as an attribute. If SQS rejects it because the body leaves
    /// no space for an attribute, sends it without the reason.
    async fn bury(&self, letter: &Delivery, reason: &str) -> Result<(), PublishError> {
        let request = self
            .sqs
            .send_message()
            .queue_url(&self.dead_letters)
            .message_body(&letter.body)
            .message_group_id(&letter.group)
            // Use the message id, because another message may have the same deduplication id.
            .message_deduplication_id(&letter.id);
        let failed = |reason| PublishError {
            call: letter.deduplication.clone(),
            reason,
        };
        let attribute =
            text(&attribute_value(reason)).map_err(|e| failed(error_chain::chain(&e)))?;
        let with_reason = request.clone().message_attributes(REASON, attribute);
        let Err(error) = with_reason.send().await else {
            return Ok(());
        };
        let code = error
            .as_service_error()
            .and_then(ProvideErrorMetadata::code);
        let rejected = code.is_some_and(|code| REJECTED.iter().any(|is| code.starts_with(is)));
        if !rejected {
            return Err(failed(error_chain::chain(&error)));
        }
        tracing::warn!(
            message = letter.id,
            reason,
            "invalid message goes to the dead-letter queue without its reason"
        );
        let sent = request.send().await;
        sent.map(drop).map_err(|e| failed(error_chain::chain(&e)))
    }
}

#[async_trait]
impl Publisher for AwsPublisher {
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>> {
        let all: Vec<_> = events.iter().enumerate().collect();
        let expired = all.iter().filter_map(|(index, event)| match event {
            OutboxEvent::Expired(call) => Some((*index, call)),
            OutboxEvent::Assigned(_) => None,
        });
        let expired: Vec<_> = expired.collect();
        let mut batches = vec![];
        for batch in all.chunks(batch::MAX_MESSAGES) {
            batches.push(self.announce(batch).boxed());
        }
        for batch in expired.chunks(batch::MAX_MESSAGES) {
            batches.push(self.expired(batch).boxed());
        }
        let sent: Results = stream::iter(batches).buffered(PARALLEL).concat().await;
        let mut results: Vec<_> = events.iter().map(|_| Ok(())).collect();
        for (index, result) in sent {
            if result.is_err() {
                results[index] = result;
            }
        }
        results
    }
}

fn attribute(kind: &str, value: impl Into<String>) -> Result<sns::MessageAttributeValue, String> {
    let attribute = sns::MessageAttributeValue::builder().data_type(kind);
    let attribute = attribute.string_value(value).build();
    attribute.map_err(|e| e.to_string())
}

/// Results per message, each with the message's index in the batch.
type Results = Vec<(usize, Result<(), PublishError>)>;

/// Returns the result per message. If the request failed, every message gets the request's error.
fn results<T>(
    messages: &[(usize, &T)],
    call: impl Fn(&T) -> &str,
    result: Result<Vec<Result<(), Rejected>>, String>,
) -> Results {
    let reasons = match result {
        Err(reason) => vec![Some(reason); messages.len()],
        Ok(outcomes) => {
            let rejected = outcomes.into_iter().map(Result::err);
            let reason =
                |rejected| format!("the service rejected this message of the batch: {rejected}");
            rejected.map(|rejected| rejected.map(reason)).collect()
        }
    };
    let one = |((index, about), reason): (&(usize, &T), Option<String>)| {
        let call = call(about).to_owned();
        let result = reason.map_or(Ok(()), |reason| Err(PublishError { call, reason }));
        (*index, result)
    };
    messages.iter().zip(reasons).map(one).collect()
}

/// Converts a reason to a valid message attribute of up to [`MAX_REASON`] characters. A reason may
/// quote a body that contains control characters or noncharacters, which SQS rejects
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>).
fn attribute_value(reason: &str) -> String {
    let allowed = |c: char| match c {
        '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    reason.chars().map(allowed).take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests;
