//! The DynamoDB protocol at the SDK's connector, for all modules between the real client and an
//! embedded database.

use std::fmt;

use aws::client;
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{Builder, Region};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::json;

pub type Response = Result<HttpResponse, ConnectorError>;

/// Returns the functions' client configuration, without a network. It has a fixed address and fixed
/// credentials.
pub fn config() -> Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws::client::behavior())
        .region(Region::from_static("us-east-1"))
        .endpoint_url("http://dynamodb.internal")
        .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
        .timeout_config(client::timeouts().build())
        .retry_config(client::retries())
        .sleep_impl(TokioSleep::new())
}

/// Creates a client that uses this connector and has no SDK retries.
pub(crate) fn client(connector: SharedHttpConnector) -> Client {
    let config = config().retry_config(RetryConfig::disabled());
    let config = config.http_client(http_client_fn(move |_, _| connector.clone()));
    Client::from_conf(config.build())
}

/// Creates a connector that computes the response to each request with `respond`.
pub fn connector<F, A>(respond: F) -> SharedHttpConnector
where
    F: Fn(HttpRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    SharedHttpConnector::new(Responding(respond))
}

struct Responding<F>(F);

impl<F> fmt::Debug for Responding<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responding")
    }
}

impl<F, A> HttpConnector for Responding<F>
where
    F: Fn(HttpRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new((self.0)(request))
    }
}

/// Operations that the simulated networks support.
const OPERATIONS: [&str; 8] = [
    "PutItem",
    "GetItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "BatchWriteItem",
    "Scan",
    "TransactWriteItems",
];

/// Returns the operation of a request, or an error if it is not simulated.
pub(crate) fn supported_operation(request: &HttpRequest) -> Result<&'static str, ConnectorError> {
    let named = operation(request);
    let known = OPERATIONS.into_iter().find(|known| *known == named);
    known.ok_or_else(|| ConnectorError::user(format!("{named} is not simulated").into()))
}

/// Returns the operation of a request, such as `PutItem`, or an empty string if it names none.
pub fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

/// Creates a response with this status and body.
pub fn respond(status: u16, body: impl Into<String>) -> Response {
    let status = status
        .try_into()
        .map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(body.into()));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}

/// Creates an error response with this code, such as `ThrottlingException`.
pub fn error(status: u16, code: &str, message: &str) -> Response {
    let body = json!({"__type": type_of(code), "message": message});
    respond(status, body.to_string())
}

pub(crate) fn type_of(code: &str) -> String {
    format!("com.amazonaws.dynamodb.v20120810#{code}")
}
