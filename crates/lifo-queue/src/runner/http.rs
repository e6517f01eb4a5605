//! Posts each task to an HTTP endpoint.
//!
//! ## The request
//! A `POST` request with the [`Task`] as JSON:
//! ```json
//! {"taskId": "…", "taskCreated": 1700000000000, "attempt": 1, "expiresAt": 1700003600, "payload": …}
//! ```
//! `taskCreated` is in milliseconds and `expiresAt` in seconds since the epoch. `payload` is `null`
//! if the task has none. A task with a key also has a `version`. A higher version, compared as
//! text, is newer. An endpoint that stores the highest version received can ignore an older state
//! that arrives late. In addition to `Content-Type`, `User-Agent` and [authentication](Auth), each
//! call has these headers:
//! - `Idempotency-Key`: the task's id, the same for every attempt. For a task with a key, it is the
//!   key, a colon and the version, which differs for each state. The header contains only visible
//!   ASCII, so all other characters and the percent sign are percent-encoded as UTF-8: `é 1`
//!   becomes `%C3%A9%201`.
//! - `Freshq-Attempt`: the number of the attempt, 1 for the first. No standard header has this meaning.
//! - `X-Amzn-Trace-Id` and `traceparent`: the [trace](crate::trace) of a sampled task.
//!
//! ## The response
//!
//! | response | outcome |
//! |---|---|
//! | 2xx | success |
//! | 408, 425, 429, 503, 529 | busy, until `Retry-After` (seconds or a date; maximum [`MAX_RETRY_AFTER`]) |
//! | 403, 409, 413, 502 with a valid `Retry-After` | also busy, until then |
//! | 409 to a task that has started before | also busy: the endpoint may still process the earlier request |
//! | 401, 403, 404, 3xx | rejecting: the endpoint does not accept the queue's calls. A redirect usually leads to a login page. It is never followed, because a task must not be sent to an address that was not configured |
//! | other 4xx | failure |
//! | other 5xx, unknown status | unavailable, or the task is the cause |
//! | no response in time, no connection, TLS error | unavailable |
//!
//! The status line is the result. The body is read for up to 2 seconds and 64 KiB.
//!
//! A reason contains the status and the start of the response body in one line, without credentials
//! that the endpoint echoes. It never contains the URL, because the query may be secret.
//!
//! ## The client
//! The runner uses the AWS SDK's HTTP client without the rest of the SDK. The binary already
//! contains this client: hyper, rustls on ring and the trust roots. The client doesn't follow
//! redirects or use proxies from the environment. A second client would add packages, startup time
//! and another copy of the trust roots for a single `POST`. A call without a response retires its
//! connection, and a call that the endpoint cannot have processed is sent a second time, at once
//! ([`aws::connections`]).
//!
//! The trust roots come from the operating system, which is Amazon Linux 2023 on Lambda. The AWS
//! clients use the same roots. `SSL_CERT_FILE` sets another bundle for all clients, for
//! example with a private certificate authority.

mod auth;
mod response;
mod secret;
mod url;

use std::time::Duration;

use async_trait::async_trait;
use aws::connections;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_types::body::SdkBody;
use http::{HeaderValue, Request, StatusCode, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

pub use self::auth::{Auth, InvalidHeaderName, SECRET_TTL};
use self::response::Response;
pub use self::url::{InvalidUrl, TaskUrl};
pub use super::MAX_RETRY_AFTER;
use super::reason::cause;
use super::{Outcome, TaskRunner};
use crate::task::Task;
use crate::trace::Traced;

/// The header that carries the task's idempotency key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The header that carries the number of the attempt.
pub const ATTEMPT: &str = "freshq-attempt";

/// Characters that are percent-encoded in an idempotency key: all except visible ASCII, plus `%`
/// itself, so that decoding is unambiguous.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');
/// Maximum wait for a connection. A connection that takes longer is unlikely to succeed.
const MAX_CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time after which an idle connection is closed. Many servers close one after 5 seconds.
const IDLE_TIME: Duration = Duration::from_secs(4);
const USER_AGENT: &str = concat!("freshq/", env!("CARGO_PKG_VERSION"));

/// Runs a task by posting it to an endpoint. See the [module](self) for requests and responses.
#[derive(Debug)]
pub struct HttpRunner {
    url: TaskUrl,
    auth: Auth,
    timeout: Duration,
    connector: SharedHttpConnector,
}

impl HttpRunner {
    /// Creates a runner that posts tasks to `url`. Each call ends within `timeout`, including the
    /// fetch of a secret, a second try after a 401 or 403, and the response body.
    #[must_use]
    pub fn new(url: TaskUrl, auth: Auth, timeout: Duration) -> Self {
        let settings = HttpConnectorSettings::builder()
            .connect_timeout(timeout.min(MAX_CONNECT_TIME))
            .build();
        let connector = connections::connector(&settings, IDLE_TIME);
        Self {
            url,
            auth,
            timeout,
            connector: SharedHttpConnector::new(Traced(connector)),
        }
    }

    /// Calls the endpoint. Retries once if the endpoint rejected a secret that has since been
    /// rotated. API Gateway responds to an invalid key with 403, other services with 401.
    async fn call(&self, task: &Task, body: &[u8]) -> Result<Response, Outcome> {
        let Auth::Header { name, secret } = &self.auth else {
            return self.post(task, body, None).await;
        };
        let value = secret.get().await?;
        let response = self.post(task, body, Some((name, &value))).await?;
        if ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&response.status) {
            return Ok(response);
        }
        let fresh = secret.get_after_rejection_of(&value).await?;
        if fresh == value {
            return Ok(response);
        }
        self.post(task, body, Some((name, &fresh))).await
    }

    async fn post(
        &self,
        task: &Task,
        body: &[u8],
        header: Option<auth::SecretHeader<'_>>,
    ) -> Result<Response, Outcome> {
        let mut request = self.request(task, body)?;
        let confidential = self.auth.apply(&mut request, body, header).await?;
        // Without this header, a server may encode the body. A proxy may change it, so it is not signed.
        let identity = HeaderValue::from_static("identity");
        request
            .headers_mut()
            .insert(header::ACCEPT_ENCODING, identity);
        let request = request.try_into().map_err(|error| Outcome::Failure {
            reason: format!("the request cannot be sent: {}", cause(&error)),
        })?;
        let response =
            self.connector
                .call(request)
                .await
                .map_err(|error| Outcome::Unavailable {
                    reason: format!("no response: {}", cause(&error)),
                })?;
        Response::read(response, &confidential).await
    }

    fn request(&self, task: &Task, body: &[u8]) -> Result<Request<SdkBody>, Outcome> {
        let key = utf8_percent_encode(&task.idempotency_key(), ENCODED).to_string();
        Request::post(self.url.uri().clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .header(IDEMPOTENCY_KEY, key)
            .header(ATTEMPT, task.attempt)
            .body(SdkBody::from(body))
            .map_err(|error| Outcome::Failure {
                reason: format!("the request cannot be built: {}", cause(&error)),
            })
    }
}

#[async_trait]
impl TaskRunner for HttpRunner {
    async fn run(&self, task: &Task) -> Outcome {
        let body = match serde_json::to_vec(task) {
            Ok(body) => body,
            Err(error) => {
                return Outcome::Failure {
                    reason: format!("the task is not JSON: {error}"),
                };
            }
        };
        match tokio::time::timeout(self.timeout, self.call(task, &body)).await {
            Ok(Ok(response)) => response.into_outcome(task.total_attempts > 1),
            Ok(Err(outcome)) => outcome,
            Err(_) => Outcome::Unavailable {
                reason: format!("no complete response within {:?}", self.timeout),
            },
        }
    }
}

#[cfg(test)]
mod tests;
