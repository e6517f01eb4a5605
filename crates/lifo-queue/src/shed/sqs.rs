//! Sends shed tasks to an Amazon SQS standard queue. Each task is one message with a JSON document
//! as its body:
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
//! | field | content |
//! |---|---|
//! | `taskStatus` | `PENDING` or `TAKEN` |
//! | `taskCreated` | milliseconds since the epoch |
//! | `expiresAt` | the deadline, in epoch seconds |
//! | `attempts`, `totalAttempts` | attempts that count against the maximum, and all starts |
//! | `payloadOmitted` | `true` if the message with the payload was too large or rejected; `payload` is then `null` |
//! | `reason` | `not-admitted`; only for tasks that [admission](crate::ingest) shed |
//! | `unreadable` | names of the item's attributes that could not be read |
//!
//! Every other field is always present; an attribute that is missing or can't be read is `null`. A
//! task may be sent twice: `taskId` and `taskCreated` together identify it.

mod message;

use std::sync::Arc;

use async_trait::async_trait;
use aws::batch::{self, Rejected};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use backon::BackoffBuilder;

use self::message::Message;
use super::{HandOverError, NotHandedOver, ShedSink, ShedTask};

#[derive(Clone, Debug)]
pub struct SqsShedSink {
    client: Client,
    queue_url: String,
}

/// The error for a message that SQS did not accept, and its remedy.
struct Rejection {
    error: HandOverError,
    remedy: Remedy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Send the message again later.
    Wait,
    /// Send the message without its payload.
    Shorten,
    /// None, because a retry would also fail.
    None,
}

impl SqsShedSink {
    pub fn new(client: Client, queue_url: String) -> Self {
        Self { client, queue_url }
    }

    /// Sends until SQS has accepted or permanently rejected each message of the batch, or the
    /// retries are used up. Returns the messages that SQS did not accept.
    async fn send(&self, mut batch: Vec<Message<'_>>) -> Vec<NotHandedOver> {
        let mut delays = batch::delays().build();
        let mut not_handed_over = Vec::new();
        loop {
            let results = self.attempt(&batch).await;
            let delay = delays.next();
            let mut again = Vec::new();
            for (message, rejection) in batch.into_iter().zip(results) {
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
                    _ => not_handed_over.push(NotHandedOver { index, error }),
                }
            }
            let (false, Some(delay)) = (again.is_empty(), delay) else {
                not_handed_over.sort_by_key(|task| task.index);
                return not_handed_over;
            };
            tokio::time::sleep(delay).await;
            batch = again;
        }
    }

    /// Sends the batch once. Returns `None` for each message that SQS accepted.
    ///
    /// A queue with a limit below [`batch::MAX_BYTES`] may reject the entire batch. Its messages
    /// are then sent one by one.
    async fn attempt(&self, batch: &[Message<'_>]) -> Vec<Option<Rejection>> {
        let result = self.call(batch).await;
        if batch.len() == 1 || !result.as_ref().is_err_and(is_too_long) {
            return verdicts(batch.len(), result);
        }
        let mut alone = Vec::with_capacity(batch.len());
        for message in batch {
            let result = self.call(std::slice::from_ref(message)).await;
            alone.extend(verdicts(1, result));
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
            let mut rejected = self.send(batch).await;
            if !rejected.is_empty() {
                rejected.extend((untried..tasks.len()).map(|index| NotHandedOver {
                    index,
                    error: HandOverError::NotTried,
                }));
                return rejected;
            }
        }
        Vec::new()
    }
}

/// Returns the result per message from the response to the batch.
fn verdicts(
    messages: usize,
    result: Result<SendMessageBatchOutput, SdkError<SendMessageBatchError>>,
) -> Vec<Option<Rejection>> {
    match result {
        Ok(output) => {
            let taken = output.successful().iter().map(|taken| taken.id());
            let outcomes = batch::outcomes(messages, taken, output.failed());
            let rejections = outcomes.into_iter().map(Result::err);
            rejections.map(|one| one.map(rejection)).collect()
        }
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

fn rejection(rejected: Rejected) -> Rejection {
    let ours = rejected.sender_fault && !is_throttle(&rejected.code);
    Rejection {
        error: HandOverError::Rejected(rejected),
        remedy: if ours { Remedy::Shorten } else { Remedy::Wait },
    }
}

/// Whether the batch was too long. The error code is `BatchRequestTooLong`, with the prefix
/// `AWS.SimpleQueueService.` unless the header with the older protocol's code is missing.
fn is_too_long(error: &SdkError<SendMessageBatchError>) -> bool {
    let code = error.as_service_error().and_then(|error| error.code());
    code.is_some_and(|code| code.ends_with("BatchRequestTooLong"))
}

/// The remedy for an error of the entire request.
fn remedy(error: &SdkError<SendMessageBatchError>) -> Remedy {
    let Some(service) = error.as_service_error() else {
        // No response.
        return Remedy::Wait;
    };
    let theirs = error
        .raw_response()
        .is_some_and(|response| response.status().is_server_error());
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

#[cfg(test)]
mod tests;
