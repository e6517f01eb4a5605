//! Shed tasks to an Amazon SQS standard queue: one message a task, its body one JSON document:
//!
//! ```json
//! {
//!   "taskId": "order-4711",
//!   "taskStatus": "PENDING",
//!   "taskCreated": 1700000000123,
//!   "expiresAt": 1700003600,
//!   "attempts": 1,
//!   "totalAttempts": 3,
//!   "lastError": "503 from the warehouse",
//!   "payload": { "any": ["JSON"] },
//!   "payloadOmitted": false,
//!   "unreadable": []
//! }
//! ```
//!
//! | field | what it holds |
//! |---|---|
//! | `taskStatus` | `PENDING` or `TAKEN` |
//! | `taskCreated` | milliseconds since the epoch |
//! | `expiresAt` | the deadline, in epoch seconds |
//! | `attempts`, `totalAttempts` | those that count against the maximum, and every start |
//! | `payloadOmitted` | `true`: there was a payload, the queue takes no message so large (or rejected it), and `payload` is `null` |
//! | `unreadable` | attributes that the item had and that could not be read |
//!
//! Every field is always there; what the item did not have, or what could not be read, is `null`.
//! A message may come twice: `taskId` and `taskCreated` together name the task.

mod message;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use backon::{BackoffBuilder, ExponentialBuilder};

use self::message::Message;
use super::{HandOverError, NotHandedOver, ShedSink, ShedTask};

/// The most messages in one SendMessageBatch
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>).
pub const MAX_BATCH_MESSAGES: usize = 10;

/// The most bytes in one message, and in all messages of one SendMessageBatch together: 1 MiB,
/// by the same page. A queue may be configured to take less; it then rejects the message.
pub const MAX_BATCH_BYTES: usize = 1_048_576;

/// Sends shed tasks to one queue.
#[derive(Clone, Debug)]
pub struct SqsShedSink {
    client: Client,
    queue_url: String,
}

/// A message that was not taken, and what may help.
struct Rejection {
    error: HandOverError,
    remedy: Remedy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Time.
    Wait,
    /// Another content.
    Shorten,
    /// Nothing that can be done from here.
    None,
}

impl SqsShedSink {
    /// A sink on the standard queue with this URL.
    #[must_use]
    pub fn new(client: Client, queue_url: String) -> Self {
        Self { client, queue_url }
    }

    /// Sends until each message of the batch was taken, is rejected for good, or the time is over.
    async fn send(&self, mut batch: Vec<Message<'_>>) -> Vec<NotHandedOver> {
        let mut delays = patience().build();
        let mut given_up = Vec::new();
        loop {
            let answers = self.attempt(&batch).await;
            let delay = delays.next();
            let mut again = Vec::new();
            for (message, rejection) in batch.into_iter().zip(answers) {
                let Some(Rejection { error, remedy }) = rejection else {
                    continue;
                };
                let index = message.index;
                let next = match remedy {
                    Remedy::Wait => Some(message),
                    Remedy::Shorten => message.without_payload(),
                    Remedy::None => None,
                };
                match next {
                    Some(next) if delay.is_some() => again.push(next),
                    _ => given_up.push(NotHandedOver { index, error }),
                }
            }
            let (false, Some(delay)) = (again.is_empty(), delay) else {
                given_up.sort_by_key(|task| task.index);
                return given_up;
            };
            tokio::time::sleep(delay).await;
            batch = again;
        }
    }

    /// Sends the batch once: for each message, `None` if it was taken.
    ///
    /// A queue that takes less than [`MAX_BATCH_BYTES`] may reject a batch as a whole; its
    /// messages then go one by one.
    async fn attempt(&self, batch: &[Message<'_>]) -> Vec<Option<Rejection>> {
        let answer = self.call(batch).await;
        if batch.len() == 1 || !answer.as_ref().is_err_and(is_too_long) {
            return verdicts(batch.len(), answer);
        }
        let mut alone = Vec::with_capacity(batch.len());
        for message in batch {
            let answer = self.call(std::slice::from_ref(message)).await;
            alone.extend(verdicts(1, answer));
        }
        alone
    }

    async fn call(
        &self,
        batch: &[Message<'_>],
    ) -> Result<SendMessageBatchOutput, SdkError<SendMessageBatchError>> {
        let mut call = self.client.send_message_batch().queue_url(&self.queue_url);
        for (id, message) in batch.iter().enumerate() {
            call = call.entries(message.entry(id).map_err(SdkError::construction_failure)?);
        }
        call.send().await
    }
}

#[async_trait]
impl ShedSink for SqsShedSink {
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        let mut untried = 0;
        for batch in message::batches(tasks) {
            untried += batch.len();
            let mut refused = self.send(batch).await;
            if !refused.is_empty() {
                refused.extend((untried..tasks.len()).map(|index| NotHandedOver {
                    index,
                    error: HandOverError::NotTried,
                }));
                return refused;
            }
        }
        Vec::new()
    }
}

/// What the answer to a batch of this many messages says of each.
fn verdicts(
    messages: usize,
    answer: Result<SendMessageBatchOutput, SdkError<SendMessageBatchError>>,
) -> Vec<Option<Rejection>> {
    match answer {
        Ok(output) => (0..messages).map(|id| verdict(&output, id)).collect(),
        Err(error) => {
            let remedy = remedy(&error);
            let error = HandOverError::Failed(Arc::new(error.into()));
            let each = || Rejection {
                error: error.clone(),
                remedy,
            };
            (0..messages).map(|_| Some(each())).collect()
        }
    }
}

/// SQS answers for each message of a batch by itself. One that it does not mention was not taken.
fn verdict(output: &SendMessageBatchOutput, id: usize) -> Option<Rejection> {
    let id = id.to_string();
    if output.successful().iter().any(|taken| taken.id() == id) {
        return None;
    }
    let refused = output.failed().iter().find(|refused| refused.id() == id);
    let code = refused.map_or("NoAnswer", |refused| refused.code());
    let message = refused.and_then(|refused| refused.message());
    let ours = refused.is_some_and(|refused| refused.sender_fault()) && !is_throttle(code);
    Some(Rejection {
        error: HandOverError::Refused {
            code: code.to_owned(),
            message: message.unwrap_or("no reason given").to_owned(),
        },
        remedy: if ours { Remedy::Shorten } else { Remedy::Wait },
    })
}

/// `AWS.SimpleQueueService.BatchRequestTooLong` by SQS itself; bare where no header gives the
/// code of the older protocol.
fn is_too_long(error: &SdkError<SendMessageBatchError>) -> bool {
    let code = error.as_service_error().and_then(|error| error.code());
    code.is_some_and(|code| code.ends_with("BatchRequestTooLong"))
}

/// What may help against an error of the whole call.
fn remedy(error: &SdkError<SendMessageBatchError>) -> Remedy {
    let Some(service) = error.as_service_error() else {
        // No answer at all.
        return Remedy::Wait;
    };
    let theirs = error
        .raw_response()
        .is_some_and(|answer| answer.status().is_server_error());
    if theirs || service.code().is_some_and(is_throttle) {
        Remedy::Wait
    } else if is_too_long(error) {
        Remedy::Shorten
    } else {
        Remedy::None
    }
}

/// `RequestThrottled`, `ThrottlingException`, `KmsThrottled`, `KMS.ThrottlingException`
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>).
fn is_throttle(code: &str) -> bool {
    code.contains("Throttl")
}

/// Between the sendings of one batch, on top of the client's own repetitions of a call.
fn patience() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(2))
        .with_max_times(3)
        .with_jitter()
}

#[cfg(test)]
mod tests;
