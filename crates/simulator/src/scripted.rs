//! The real SDK client over an embedded DynamoDB. A script throttles requests or loses responses,
//! which the embedded database itself never does.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use serde_json::Value;

use crate::engine::Engine;
use crate::protocol::{self, Response};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The request is executed, and the client receives the response.
    Done,
    /// The request is not executed, because DynamoDB throttles it.
    Throttled,
    /// The request is executed, but its response is lost.
    LostAck,
}

/// Decides the outcome from a request's operation, such as `PutItem`, and its body.
pub type Script = dyn Fn(&str, &Value) -> Fate + Send + Sync;

/// Creates a client for this DynamoDB, without SDK retries. `script` decides the outcome of each
/// request.
pub fn client(
    engine: &Engine,
    script: impl Fn(&str, &Value) -> Fate + Send + Sync + 'static,
) -> Client {
    let script: Arc<Script> = Arc::new(script);
    let below = engine.connector();
    protocol::client(protocol::connector(move |request| {
        respond(script.clone(), below.clone(), request)
    }))
}

async fn respond(
    script: Arc<Script>,
    below: SharedHttpConnector,
    request: HttpRequest,
) -> Response {
    let body = request.body().bytes().unwrap_or_default();
    let body = serde_json::from_slice(body).map_err(|e| ConnectorError::user(e.into()))?;
    match script(protocol::operation(&request), &body) {
        Fate::Done => below.call(request).await,
        Fate::Throttled => protocol::error(400, "ThrottlingException", "scripted"),
        Fate::LostAck => {
            below.call(request).await?;
            Err(ConnectorError::io("the response was lost".into()))
        }
    }
}
