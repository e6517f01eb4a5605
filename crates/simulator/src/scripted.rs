//! The real SDK client over an embedded DynamoDB. A script causes faults, which the embedded database
//! itself never does.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use serde_json::Value;

use crate::engine::Engine;
use crate::fault::Fault;
use crate::protocol::{self, Response};

/// Decides from a request's operation, such as `PutItem`, and its body whether it has a fault.
pub type Script = dyn Fn(&str, &Value) -> Option<Fault> + Send + Sync;

/// Creates a client for this DynamoDB, without SDK retries. `script` decides the faults.
pub fn client(
    engine: &Engine,
    script: impl Fn(&str, &Value) -> Option<Fault> + Send + Sync + 'static,
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
    let operation = protocol::operation(&request).to_owned();
    match script(&operation, &body) {
        None => below.call(request).await,
        Some(fault) => {
            let response = fault.response(&operation, 1);
            if fault == Fault::LostAck {
                below.call(request).await?;
            }
            response
        }
    }
}
