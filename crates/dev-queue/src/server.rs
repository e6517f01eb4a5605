//! The HTTP endpoint: `POST /tasks` in the protocol of `create-tasks`, the DynamoDB protocol, and
//! the invocation of `create-tasks`. It checks neither signatures nor callers: its listener must
//! use the loopback interface, and the caller must check the `Host` and `Origin` headers.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use lifo_queue::create::Creator;
use lifo_queue::create::request::{self, HttpError, Request};
use serde_json::{Value, json};

use crate::table::Table;

/// Maximum size of a request body, equal to that of DynamoDB's `BatchWriteItem`.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Prefix of DynamoDB operations in the `X-Amz-Target` header.
const TARGET: &str = "DynamoDB_20120810.";

/// The only function that can be invoked through the endpoint.
pub const CREATE_TASKS: &str = "create-tasks";

/// Whether `{"simulate": …}` events can create tasks.
const SIMULATION: bool = true;

const GREETING: &str =
    "freshq dev: POST tasks to /tasks. The console is at the address that freshq dev printed.\n";

#[derive(Clone)]
struct Endpoint {
    table: Arc<Table>,
    creator: Arc<Creator>,
}

pub fn router(table: Arc<Table>, creator: Arc<Creator>) -> Router {
    Router::new()
        .route("/", get(|| async { GREETING }).post(dynamodb))
        .route("/tasks", any(tasks))
        .route("/2015-03-31/functions/{name}/invocations", post(invoke))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Endpoint { table, creator })
}

async fn dynamodb(State(endpoint): State<Endpoint>, headers: HeaderMap, body: String) -> Response {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    match target.and_then(|target| target.strip_prefix(TARGET)) {
        Some(operation) => {
            let (status, body) = endpoint.table.execute(operation, &body);
            respond(status, "application/x-amz-json-1.0", body)
        }
        None => {
            let error = "this path is for DynamoDB SDKs; POST tasks to /tasks";
            respond_json(400, &json!({ "error": error }))
        }
    }
}

async fn tasks(State(endpoint): State<Endpoint>, method: Method, body: Bytes) -> Response {
    let request = match method {
        Method::POST => request::read_body(&body, SIMULATION),
        other => Err(HttpError::Method(other.to_string())),
    };
    match request {
        Ok(request) => {
            let report = endpoint.creator.carry_out(request).await;
            respond_json(request::status_code(&report), &json!(report))
        }
        Err(error) => respond_json(error.status_code(), &json!({ "error": error.to_string() })),
    }
}

/// AWS Lambda's Invoke operation (<https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>).
async fn invoke(
    State(endpoint): State<Endpoint>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    if name != CREATE_TASKS {
        let message = format!("freshq dev has no function {name}; it has {CREATE_TASKS}");
        let mut response = respond_json(404, &json!({ "Message": message }));
        let code = axum::http::HeaderValue::from_static("ResourceNotFoundException");
        response.headers_mut().insert("x-amzn-errortype", code);
        return response;
    }
    match event(&body) {
        Ok(request) => respond_json(200, &json!(endpoint.creator.carry_out(request).await)),
        Err(error) => {
            let mut response = respond_json(200, &json!({ "errorMessage": error.to_string() }));
            let unhandled = axum::http::HeaderValue::from_static("Unhandled");
            response
                .headers_mut()
                .insert("x-amz-function-error", unhandled);
            response
        }
    }
}

fn event(body: &[u8]) -> Result<Request, HttpError> {
    Ok(request::read(serde_json::from_slice(body)?, SIMULATION)?)
}

fn respond_json(status: u16, body: &Value) -> Response {
    respond(status, "application/json", body.to_string())
}

fn respond(status: u16, content_type: &'static str, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, content_type)], body).into_response()
}
