//! A deployed function that responds to an event.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use serde_json::Value;
use std::time::Duration;

use crate::failure::{Failure, Result};

/// Timeout per invocation attempt. It exceeds the timeouts of `create-tasks` and `agent-desk`.
const LONGEST: Duration = Duration::from_secs(120);

/// Type of the desk's error for a command with an invalid field. The desk changed nothing.
const REJECTED: &str = "CommandError";

#[async_trait]
pub(crate) trait Function: Send + Sync {
    /// Sends one event, a JSON text, and returns the response. The client may retry the event.
    ///
    /// # Errors
    /// [`Failure::Function`]: the invocation failed; the event may still have been carried out.
    async fn send(&self, event: &str) -> Result<Value>;
}

pub(crate) struct LambdaFunction {
    client: Client,
    name: String,
}

impl LambdaFunction {
    pub(crate) fn new(aws: &SdkConfig, name: String) -> Self {
        // A function responds only when it ends, so invocations have longer timeouts.
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(LONGEST)
            .operation_timeout(LONGEST * 2)
            .build();
        let config = aws_sdk_lambda::config::Builder::from(aws).timeout_config(timeouts);
        let client = Client::from_conf(config.build());
        Self { client, name }
    }

    fn failed(&self, source: impl Into<lifo_queue::store::Source>) -> Failure {
        Failure::Function {
            function: self.name.clone(),
            source: source.into(),
        }
    }
}

#[async_trait]
impl Function for LambdaFunction {
    async fn send(&self, event: &str) -> Result<Value> {
        let invoke = self.client.invoke().function_name(&self.name);
        let payload = Blob::new(event);
        let response = invoke.payload(payload).send().await;
        let response = response.map_err(|error| self.failed(Box::new(error)))?;
        let payload = response.payload().map(Blob::as_ref).unwrap_or_default();
        let report: Value =
            serde_json::from_slice(payload).map_err(|error| self.failed(Box::new(error)))?;
        match response.function_error() {
            None => Ok(report),
            Some(kind) => {
                let message = report["errorMessage"].as_str().unwrap_or(kind).to_owned();
                Err(match report["errorType"].as_str() {
                    Some(REJECTED) => Failure::Rejected(message),
                    _ => self.failed(message),
                })
            }
        }
    }
}
