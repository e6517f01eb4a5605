//! The real SDK client over an embedded DynamoDB. A script causes faults, which the embedded database
//! itself never does.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use serde_json::Value;

use crate::engine::Engine;
use crate::faulty::Fault;
use crate::protocol::{self, Response};

/// Decides the fault from a request's operation, such as `PutItem`, and its body.
pub type Script = dyn Fn(&str, &Value) -> Fault + Send + Sync;

/// Creates a client for this DynamoDB, without SDK retries. `script` decides the fault of each
/// request.
pub fn client(
    engine: &Engine,
    script: impl Fn(&str, &Value) -> Fault + Send + Sync + 'static,
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
    let lost = || Err(ConnectorError::io("the response was lost".into()));
    let code = match script(protocol::operation(&request), &body) {
        Fault::None => return below.call(request).await,
        Fault::LostRequest => return lost(),
        Fault::LostAck => {
            below.call(request).await?;
            return lost();
        }
        Fault::Throttled => "ThrottlingException",
        Fault::Denied => "AccessDeniedException",
        Fault::Invalid => "ValidationException",
    };
    protocol::error(400, code, "scripted")
}
