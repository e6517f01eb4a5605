//! HTTP requests in payload format 2.0, as sent by a Function URL or an HTTP API
//! (<https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads>). Module
//! [`request`] lists the status codes of the responses.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lifo_queue::create::CreateReport;
use lifo_queue::create::request::{self, HttpError, Request};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpResponse {
    status_code: u16,
    headers: Value,
    body: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EventError {
    #[error("isBase64Encoded is true, but the body is not valid Base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// An HTTP request in an event.
pub(crate) struct HttpRequest(Value);

impl HttpRequest {
    /// Returns the request; `None` for an operator's event.
    pub(crate) fn of(event: &RawValue) -> Option<Self> {
        let event: Value = serde_json::from_str(event.get()).ok()?;
        let is_request =
            event["version"] == "2.0" && event["requestContext"]["http"]["method"].is_string();
        is_request.then_some(Self(event))
    }

    pub(crate) fn read(&self, simulation: bool) -> Result<Request, EventError> {
        let Self(event) = self;
        let method = event["requestContext"]["http"]["method"].as_str();
        let method = method.unwrap_or_default();
        if method != "POST" {
            return Err(HttpError::Method(method.to_owned()).into());
        }
        let body = event["body"].as_str().unwrap_or_default();
        let decoded = match event["isBase64Encoded"] == true {
            true => BASE64_STANDARD.decode(body)?,
            false => body.as_bytes().to_vec(),
        };
        Ok(request::read_body(&decoded, simulation)?)
    }
}

impl HttpResponse {
    pub(crate) fn of(report: &CreateReport) -> Self {
        Self::new(request::status_code(report), &json!(report))
    }

    fn new(status_code: u16, body: &Value) -> Self {
        Self {
            status_code,
            headers: json!({"content-type": "application/json"}),
            body: body.to_string(),
        }
    }
}

impl From<EventError> for HttpResponse {
    fn from(error: EventError) -> Self {
        let status = match &error {
            EventError::Base64(_) => 400,
            EventError::Http(error) => error.status_code(),
        };
        Self::new(status, &json!({"error": error.to_string()}))
    }
}

#[cfg(test)]
mod tests;
