//! Invokes your own Lambda function, written in any language, with each task.
//!
//! ## The event
//! The [`Task`] as JSON:
//! ```json
//! {"taskId": "…", "taskCreated": 1700000000000, "attempt": 1, "expiresAt": 1700003600, "payload": …}
//! ```
//! `taskCreated` is in milliseconds and `expiresAt` in seconds since the epoch. `payload` is `null`
//! if the task has none. The same task may run more than once, so use `taskId` as the idempotency
//! key. A task with a key also has a `version`: use both together. A higher version, compared as
//! text, is newer.
//!
//! ## The reply
//!
//! | the function | outcome |
//! |---|---|
//! | returns nothing or `null` | success |
//! | returns `{"outcome": "success"}` | success |
//! | returns `{"outcome": "failure", "reason": "…"}` | failure, without further attempts |
//! | returns `{"outcome": "retry", "reason": "…"}` | retry |
//! | returns `{"outcome": "busy", "retryAfterSeconds": 5}` | busy; `retryAfterSeconds` is optional |
//! | returns `{"outcome": "unavailable", "reason": "…"}` | unavailable: a system that the function needs is down |
//! | throws | retry, with the error's message |
//! | cannot start, exits, or exceeds its time or memory | unavailable, with the error's message |
//! | returns anything else | failure, with a reason that names the field |
//!
//! `reason` is optional, and other fields are ignored. An invalid reply is a failure, not a retry,
//! because the function *has* run and would send the same reply again. Each further attempt would
//! repeat its effects. Redrive such tasks once the function is fixed.
//!
//! ## Errors of the invocation
//!
//! | error | outcome |
//! |---|---|
//! | throttled (429), or the function is still being prepared or updated | busy |
//! | no permission, no such function, or a configuration that prevents it from starting | rejecting |
//! | a payload that Lambda rejects | failure |
//! | anything else: service errors, network errors, timeouts | unavailable |
//!
//! The client's own retries are disabled, because a repeated Invoke would run the task a second
//! time without counting the attempt.
//!
//! ## Recursive-loop detection
//! Lambda stops a function that is invoked about 16 times in one chain of requests
//! (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>). The queue's own
//! functions form such a loop, which their configuration allows. Your function is a leaf of that
//! chain, so each invocation is its first. It joins the loop only if it publishes to the queue's
//! topics, which is unnecessary.

mod reply;

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::config::retry::RetryConfig;
use aws_sdk_lambda::config::timeout::TimeoutConfig;
use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::InvokeError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;

use super::reason::{aws_error, is_denied};
use super::{Outcome, TaskRunner, retry_after};
use crate::task::Task;

/// Runs a task by invoking a function. See the [module](self) for its event and reply.
#[derive(Debug)]
pub struct LambdaRunner {
    client: Client,
    function_arn: String,
}

impl LambdaRunner {
    /// A runner that invokes `function_arn`, which may name a version or an alias. It waits up to
    /// `timeout` for the reply. It uses the configuration of `client` except for retries and for
    /// the read and operation timeouts.
    ///
    /// Choose a `timeout` above the task timeout, so that the processor's timeout comes first and
    /// is the one reported. Neither timeout stops the function, so its own timeout should be the
    /// shortest.
    #[must_use]
    pub fn new(client: &Client, function_arn: impl Into<String>, timeout: Duration) -> Self {
        let inherited = client.config().timeout_config();
        // Set all three timeouts. Otherwise, a shorter client timeout would end the wait early.
        let timeouts = inherited
            .map_or_else(TimeoutConfig::builder, TimeoutConfig::to_builder)
            .read_timeout(timeout)
            .operation_attempt_timeout(timeout)
            .operation_timeout(timeout)
            .build();
        let config = client
            .config()
            .to_builder()
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build();
        Self {
            client: Client::from_conf(config),
            function_arn: function_arn.into(),
        }
    }
}

#[async_trait]
impl TaskRunner for LambdaRunner {
    async fn run(&self, task: &Task) -> Outcome {
        let event = match serde_json::to_vec(task) {
            Ok(event) => event,
            Err(error) => {
                return Outcome::Failure {
                    reason: format!("the task is not JSON: {error}"),
                };
            }
        };
        let invoked = self
            .client
            .invoke()
            .function_name(&self.function_arn)
            .invocation_type(InvocationType::RequestResponse)
            .payload(Blob::new(event))
            .send()
            .await;
        match invoked {
            Ok(output) => {
                let payload = output.payload().map(Blob::as_ref).unwrap_or_default();
                match output.function_error() {
                    None => reply::returned(payload),
                    Some(kind) => reply::threw(kind, payload),
                }
            }
            Err(error) => not_invoked(&error),
        }
    }
}

/// The outcome of an Invoke request without a reply. See
/// <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors>.
fn not_invoked(error: &SdkError<InvokeError>) -> Outcome {
    let reason = format!("Invoke: {}", aws_error(error));
    let Some(service_error) = error.as_service_error() else {
        return Outcome::Unavailable { reason };
    };
    match service_error {
        InvokeError::TooManyRequestsException(throttled) => Outcome::Busy {
            retry_after: throttled
                .retry_after_seconds()
                .and_then(|value| retry_after::parse(value, SystemTime::now())),
            // The reason names the limit, for example the function's reserved concurrency.
            reason: match throttled.reason() {
                Some(limit) => format!("{reason} ({})", limit.as_str()),
                None => reason,
            },
        },
        InvokeError::CodeArtifactUserPendingException(_)
        | InvokeError::Ec2ThrottledException(_)
        | InvokeError::EniNotReadyException(_)
        | InvokeError::ResourceConflictException(_)
        | InvokeError::ResourceNotReadyException(_)
        | InvokeError::SnapStartNotReadyException(_) => Outcome::Busy {
            retry_after: None,
            reason,
        },
        InvokeError::CodeArtifactUserDeletedException(_)
        | InvokeError::CodeArtifactUserFailedException(_)
        | InvokeError::Ec2AccessDeniedException(_)
        | InvokeError::InvalidParameterValueException(_)
        | InvokeError::InvalidRuntimeException(_)
        | InvokeError::InvalidSecurityGroupIdException(_)
        | InvokeError::InvalidSubnetIdException(_)
        | InvokeError::InvalidZipFileException(_)
        | InvokeError::KmsAccessDeniedException(_)
        | InvokeError::KmsDisabledException(_)
        | InvokeError::KmsInvalidStateException(_)
        | InvokeError::KmsNotFoundException(_)
        | InvokeError::ModeNotSupportedException(_)
        | InvokeError::NoPublishedVersionException(_)
        | InvokeError::ResourceNotFoundException(_) => Outcome::Rejecting { reason },
        InvokeError::InvalidRequestContentException(_)
        | InvokeError::RequestTooLargeException(_)
        | InvokeError::SerializedRequestEntityTooLargeException(_)
        | InvokeError::UnsupportedMediaTypeException(_) => Outcome::Failure { reason },
        other if other.code().is_some_and(is_denied) => Outcome::Rejecting { reason },
        _ if status(error) == Some(429) => Outcome::Busy {
            retry_after: None,
            reason,
        },
        _ => Outcome::Unavailable { reason },
    }
}

fn status(error: &SdkError<InvokeError>) -> Option<u16> {
    error
        .raw_response()
        .map(|response| response.status().as_u16())
}

#[cfg(test)]
mod tests;
