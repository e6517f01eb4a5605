//! A runner's configuration, which the CDK construct writes to `TASK_RUNNER`.
//!
//! ```json
//! {"kind": "simulated", "capacity": 3, "durationMs": 15000}
//! {"kind": "simulated", "capacity": 3, "durationMs": 15000,
//!  "rates": {"failure": 0.01, "retry": 0.05, "busy": 0.0}}
//! {"kind": "http", "url": "https://api.example.com/tasks"}
//! {"kind": "http", "url": "…", "timeoutMs": 20000,
//!  "auth": {"kind": "header", "name": "Authorization", "secretArn": "arn:aws:secretsmanager:…"}}
//! {"kind": "http", "url": "…", "auth": {"kind": "sigv4", "service": "execute-api", "region": "eu-west-1"}}
//! {"kind": "lambda", "functionArn": "arn:aws:lambda:…"}
//! {"kind": "custom"}
//! ```

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_types::SdkConfig;
use aws_types::region::Region;
use serde::{Deserialize, Serialize};

use super::TaskRunner;
use super::http::{Auth, HttpRunner, InvalidHeaderName, InvalidUrl};
use super::lambda::LambdaRunner;
use super::simulated::{Rates, Simulated};

/// Time by which the default invocation wait exceeds the task timeout, so that the processor's
/// timeout comes first and is reported.
const INVOKE_MARGIN: Duration = Duration::from_secs(5);

/// The choice of a runner. Unknown fields are rejected, so that misspelled options are detected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum RunnerConfig {
    /// [`Simulated`].
    Simulated {
        /// Maximum number of concurrent tasks; at least 1.
        capacity: usize,
        /// The duration of each run, in milliseconds.
        duration_ms: u64,
        /// The shares of runs that do not succeed; all 0 by default.
        #[serde(default, skip_serializing_if = "Rates::are_zero")]
        rates: Rates,
    },
    /// [`HttpRunner`].
    Http {
        /// The URL that tasks are posted to: `https`, or `http` on the local machine.
        url: String,
        /// Authentication; none by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auth: Option<AuthConfig>,
        /// Maximum duration of a call, in milliseconds, at least 1; the task timeout by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// [`LambdaRunner`].
    Lambda {
        /// The ARN of the function, or of a version or an alias.
        function_arn: String,
        /// Maximum wait for the reply, in milliseconds, at least 1; the task timeout plus 5 s by
        /// default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// A custom runner in Rust, in a separate binary. It has no configuration here.
    Custom {},
}

/// Authentication of the HTTP runner: see [`Auth`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum AuthConfig {
    /// A header whose entire value is a secret.
    Header {
        /// The header's name.
        name: String,
        /// The ARN of the secret in Secrets Manager.
        secret_arn: String,
    },
    /// AWS Signature Version 4, with the function's credentials.
    #[serde(rename = "sigv4")]
    SigV4 {
        /// The service's signing name, such as `execute-api` or `lambda`.
        service: String,
        /// The service's region.
        region: String,
    },
}

/// Why a runner can't be built from a configuration.
#[derive(Debug, thiserror::Error)]
pub enum RunnerConfigError {
    /// The value is not the JSON described in the [module](self).
    #[error("the task runner's configuration cannot be read: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The endpoint's address is invalid.
    #[error("the task runner's url {0}")]
    Url(#[from] InvalidUrl),
    /// The header for a secret is invalid.
    #[error("the task runner's auth.name {0}")]
    HeaderName(#[from] InvalidHeaderName),
    /// Another field is invalid.
    #[error("the task runner's {field} {problem}")]
    Field {
        /// The field's path.
        field: &'static str,
        /// The problem, and a valid value to use instead.
        problem: String,
    },
    /// The runner is custom, but the binary doesn't contain one.
    #[error(
        "the task runner is \"custom\", but this binary contains no custom runner: build your \
         own process-tasks binary with your TaskRunner (examples/custom-runner shows how) \
         and name it by TaskRunner.rust({{ manifestPath, binary }})"
    )]
    Custom,
}

impl FromStr for RunnerConfig {
    type Err = RunnerConfigError;

    fn from_str(json: &str) -> Result<Self, Self::Err> {
        Ok(serde_json::from_str(json)?)
    }
}

impl RunnerConfig {
    /// Builds the runner. `aws` provides the AWS clients' credentials and HTTP client. Their region
    /// comes from the ARN of the function or secret. `task_timeout` is the processor's setting.
    pub fn build(
        self,
        aws: &SdkConfig,
        task_timeout: Duration,
    ) -> Result<Arc<dyn TaskRunner>, RunnerConfigError> {
        match self {
            Self::Simulated {
                capacity,
                duration_ms,
                rates,
            } => {
                if capacity == 0 {
                    return Err(field(
                        "capacity",
                        "is 0: no task would ever run; give at least 1",
                    ));
                }
                if !rates.are_valid() {
                    return Err(field(
                        "rates",
                        "are not shares; give numbers from 0 to 1 whose sum is at most 1",
                    ));
                }
                let runner = Simulated::new(capacity, Duration::from_millis(duration_ms));
                Ok(Arc::new(runner.with_rates(rates)))
            }
            Self::Http {
                url,
                auth,
                timeout_ms,
            } => {
                let url = url.parse()?;
                let auth = auth.map_or(Ok(Auth::None), |auth| auth.build(aws))?;
                let timeout = timeout(timeout_ms, task_timeout)?;
                Ok(Arc::new(HttpRunner::new(url, auth, timeout)))
            }
            Self::Lambda {
                function_arn,
                timeout_ms,
            } => {
                let region = arn_region("functionArn", &function_arn, "lambda")?;
                let timeout = timeout(timeout_ms, task_timeout.saturating_add(INVOKE_MARGIN))?;
                let config = aws_sdk_lambda::config::Builder::from(aws)
                    .region(region)
                    .build();
                let client = aws_sdk_lambda::Client::from_conf(config);
                Ok(Arc::new(LambdaRunner::new(&client, function_arn, timeout)))
            }
            Self::Custom {} => Err(RunnerConfigError::Custom),
        }
    }
}

impl AuthConfig {
    fn build(self, aws: &SdkConfig) -> Result<Auth, RunnerConfigError> {
        match self {
            Self::Header { name, secret_arn } => {
                let region = arn_region("auth.secretArn", &secret_arn, "secretsmanager")?;
                let config = aws_sdk_secretsmanager::config::Builder::from(aws)
                    .region(region)
                    .build();
                let client = aws_sdk_secretsmanager::Client::from_conf(config);
                Ok(Auth::header(&name, client, secret_arn)?)
            }
            Self::SigV4 { service, region } => {
                if service.is_empty() {
                    return Err(field(
                        "auth.service",
                        "is empty; give a signing name such as execute-api",
                    ));
                }
                if region.is_empty() {
                    return Err(field(
                        "auth.region",
                        "is empty; give a region such as eu-west-1",
                    ));
                }
                let credentials = aws.credentials_provider().ok_or_else(|| {
                    field(
                        "auth",
                        "is sigv4, but there are no AWS credentials to sign with",
                    )
                })?;
                Ok(Auth::SigV4 {
                    service,
                    region,
                    credentials,
                })
            }
        }
    }
}

fn field(field: &'static str, problem: impl Into<String>) -> RunnerConfigError {
    RunnerConfigError::Field {
        field,
        problem: problem.into(),
    }
}

fn timeout(millis: Option<u64>, default: Duration) -> Result<Duration, RunnerConfigError> {
    match millis {
        None => Ok(default),
        Some(0) => Err(field(
            "timeoutMs",
            "is 0: every task would time out; give at least 1",
        )),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

/// Returns the region in an ARN of this service (`arn:partition:service:region:account:resource`).
fn arn_region(name: &'static str, arn: &str, service: &str) -> Result<Region, RunnerConfigError> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    match parts[..] {
        ["arn", _, its_service, region, _, resource]
            if its_service == service && !region.is_empty() && !resource.is_empty() =>
        {
            Ok(Region::new(region.to_owned()))
        }
        _ => Err(field(
            name,
            format!("is {arn:?}; give the full ARN, arn:aws:{service}:<region>:<account>:…"),
        )),
    }
}

#[cfg(test)]
mod tests;
