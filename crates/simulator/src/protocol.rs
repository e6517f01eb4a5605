//! DynamoDB's protocol as the SDK's connector sees it, for everything here that stands between
//! the real client and an embedded database.

use std::fmt;

use aws::client;
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Region};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;

/// What a connector answers, or why it does not.
pub type Answer = Result<HttpResponse, ConnectorError>;

/// The configuration of a client as the functions have it, but for its network.
#[must_use]
pub fn config() -> Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url("http://dynamodb.internal")
        .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
        .timeout_config(client::timeouts().build())
        .retry_config(client::retries())
        .sleep_impl(TokioSleep::new())
}

/// A connector that answers by a function.
pub fn connector<F, A>(answer: F) -> SharedHttpConnector
where
    F: Fn(HttpRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    SharedHttpConnector::new(Answering(answer))
}

struct Answering<F>(F);

impl<F> fmt::Debug for Answering<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answering")
    }
}

impl<F, A> HttpConnector for Answering<F>
where
    F: Fn(HttpRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new((self.0)(request))
    }
}

/// What a request asks for, such as `PutItem`.
#[must_use]
pub fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

/// An answer.
///
/// # Errors
/// [`ConnectorError`] when the status is none of HTTP.
pub fn respond(status: u16, body: impl Into<String>) -> Answer {
    let status = status
        .try_into()
        .map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(body.into()));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}

/// The type of an error, as its body has it.
#[must_use]
pub fn type_of(code: &str) -> String {
    format!("com.amazonaws.dynamodb.v20120810#{code}")
}
