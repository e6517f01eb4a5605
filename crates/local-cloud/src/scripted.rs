//! The real SDK client over an embedded DynamoDB whose requests fail as a script says: what the
//! embedded database itself never does.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::Builder as Http;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use crate::dynamodb;

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It is not carried out: DynamoDB is asked for too much.
    Throttled,
    /// It is carried out, and its answer is lost.
    LostAck,
}

/// Decides by a request's operation, such as `PutItem`, and its body.
pub type Script = dyn Fn(&str, &Value) -> Fate + Send + Sync;

/// A client of the embedded DynamoDB at this address, whose requests fail by `script`. Its own
/// retries are off.
#[must_use]
pub fn client(
    address: SocketAddr,
    script: impl Fn(&str, &Value) -> Fate + Send + Sync + 'static,
) -> Client {
    let http = Http::new().build_http();
    let script: Arc<Script> = Arc::new(script);
    let through = http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Connector {
            script: script.clone(),
            inner: http.http_connector(settings, components),
        })
    });
    let plain = dynamodb::client(address);
    Client::from_conf(plain.config().to_builder().http_client(through).build())
}

#[derive(Clone)]
struct Connector {
    script: Arc<Script>,
    inner: SharedHttpConnector,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().answer(request))
    }
}

impl Connector {
    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        let body = serde_json::from_slice(body).map_err(|e| ConnectorError::user(e.into()))?;
        match (self.script)(operation, &body) {
            Fate::Answered => self.inner.call(request).await,
            Fate::Throttled => throttled(),
            Fate::LostAck => {
                self.inner.call(request).await?;
                Err(ConnectorError::io("the answer was lost".into()))
            }
        }
    }
}

fn throttled() -> Result<HttpResponse, ConnectorError> {
    let error = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": "Throughput exceeds the current capacity of your table or index",
    });
    let status = 400.try_into();
    let status = status.map_err(|e| ConnectorError::other(Box::new(e), None))?;
    Ok(HttpResponse::new(status, SdkBody::from(error.to_string())))
}
