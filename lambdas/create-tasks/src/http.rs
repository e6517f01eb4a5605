//! HTTP requests in payload format 2.0, as a Function URL and an HTTP API send them
//! (<https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads>).
//!
//! | status | meaning |
//! |---|---|
//! | 200 | every task is in the table, or a newer state of its key; the body is the report |
//! | 207 | some are, some failed; or all failed, and only some are retryable; the body is the report |
//! | 400 | nothing was created, and a repetition would fail too: the request or its tasks are invalid |
//! | 405 | not POST |
//! | 503 | nothing was created, but the tasks are retryable: DynamoDB was unavailable or throttled |

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lifo_queue::create::CreateReport;
use serde::Serialize;
use serde_json::{Value, json};

use crate::event::{self, Request, RequestError};

/// The answer to an HTTP request, with the fields of payload format 2.0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpAnswer {
    status_code: u16,
    headers: Value,
    body: String,
}

/// Why a request is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("the method is {0}; send POST")]
    Method(String),
    #[error("the body is empty; send one task, an array of tasks or {{\"tasks\": […]}} as JSON")]
    NoBody,
    #[error("isBase64Encoded is true, and the body is not in base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error(
        "the body is not valid JSON: {0}; send one task, an array of tasks or {{\"tasks\": […]}}"
    )]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Whether an event is an HTTP request rather than an operator's event.
pub(crate) fn is_request(event: &Value) -> bool {
    event["version"] == "2.0" && event["requestContext"]["http"]["method"].is_string()
}

/// Reads an HTTP request. Its body is the event of an operator, or one task or an array of tasks,
/// as in messages of the ingest queue.
pub(crate) fn read(event: &Value, simulation: bool) -> Result<Request, HttpError> {
    let method = event["requestContext"]["http"]["method"].as_str();
    let method = method.unwrap_or_default();
    if method != "POST" {
        return Err(HttpError::Method(method.to_owned()));
    }
    let body = event["body"].as_str().unwrap_or_default();
    if body.is_empty() {
        return Err(HttpError::NoBody);
    }
    let body = if event["isBase64Encoded"] == true {
        serde_json::from_slice(&BASE64_STANDARD.decode(body)?)?
    } else {
        serde_json::from_str(body)?
    };
    let asked = match body {
        Value::Array(tasks) => json!({"tasks": tasks}),
        Value::Object(fields)
            if !fields.contains_key("tasks") && !fields.contains_key("simulate") =>
        {
            json!({"tasks": [fields]})
        }
        other => other,
    };
    Ok(event::read(asked, simulation)?)
}

impl HttpAnswer {
    /// The answer to a request that was executed.
    pub(crate) fn of(report: &CreateReport) -> Self {
        let there = report.created.len() + report.duplicates.len() + report.outdated.len();
        let status = match report.failed.as_slice() {
            [] => 200,
            _ if there > 0 => 207,
            failed if failed.iter().all(|task| task.retryable) => 503,
            failed if failed.iter().all(|task| !task.retryable) => 400,
            _ => 207,
        };
        Self::new(status, &json!(report))
    }

    fn new(status_code: u16, body: &Value) -> Self {
        Self {
            status_code,
            headers: json!({"content-type": "application/json"}),
            body: body.to_string(),
        }
    }
}

impl From<HttpError> for HttpAnswer {
    fn from(error: HttpError) -> Self {
        let status = match error {
            HttpError::Method(_) => 405,
            _ => 400,
        };
        Self::new(status, &json!({"error": error.to_string()}))
    }
}

#[cfg(test)]
mod tests;
