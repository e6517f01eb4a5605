//! Requests to create tasks: the events of `create-tasks`, and the bodies of its HTTP requests.
//!
//! | status code | meaning |
//! |---|---|
//! | 200 | the table contains every task, or a newer state of its key; the body is the report |
//! | 207 | some tasks failed, or all failed and only some are retryable; the body is the report |
//! | 400 | nothing was created, and a retry would fail too: the request or its tasks are invalid |
//! | 405 | the method is not POST |
//! | 503 | nothing was created, but the tasks are retryable: DynamoDB was unavailable or throttled |

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{BYTE_ORDER_MARK, CreateReport, MAX_TASKS};

#[derive(Clone, Debug)]
pub enum Request {
    /// Create tasks from these descriptions, each of which is checked separately. They are texts,
    /// because a parsed number may have other digits.
    Create(Vec<Box<RawValue>>),
    /// Create this number of simulated tasks.
    Simulate(usize),
}

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(
        "the event must be {{\"tasks\": [{{\"group\"?, \"taskId\"? or \"key\"? with \"sequence\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}, …]}} or {{\"simulate\": {{\"count\": N}}}}: {0}"
    )]
    Shape(String),
    #[error("field tasks has {0} entries; send at most {MAX_TASKS} in one event")]
    TooMany(usize),
    #[error("field simulate.count is {0}; give a whole number from 1 to {MAX_TASKS}")]
    Count(u64),
    #[error(
        "field simulate: this queue does not simulate; create real tasks with {{\"tasks\": […]}}, \
         or give the queue the prop `simulation`, as outside production"
    )]
    SimulationOff,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the method is {0}; send POST")]
    Method(String),
    #[error("the body is empty; send one task, an array of tasks or {{\"tasks\": […]}} as JSON")]
    MissingBody,
    #[error(
        "the body is not valid JSON: {0}; send one task, an array of tasks or {{\"tasks\": […]}}"
    )]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl HttpError {
    pub fn status_code(&self) -> u16 {
        match self {
            Self::Method(_) => 405,
            Self::MissingBody | Self::Json(_) | Self::Request(_) => 400,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Simulate {
    count: u64,
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Parses an event from an operator or a schedule. `simulation` enables simulation requests.
pub fn read(event: &RawValue, simulation: bool) -> Result<Request, RequestError> {
    if !event.get().starts_with('{') {
        return Err(shape("it is not an object"));
    }
    let fields = serde_json::from_str(event.get()).map_err(|error| invalid("it", &error))?;
    read_fields(fields, simulation)
}

fn read_fields(mut fields: Fields<'_>, simulation: bool) -> Result<Request, RequestError> {
    let found = (fields.remove("tasks"), fields.remove("simulate"));
    match found {
        (Some(_), Some(_)) => Err(shape("it has both field tasks and field simulate")),
        _ if !fields.is_empty() => Err(unknown(&fields)),
        (Some(tasks), None) => self::tasks(tasks),
        (None, Some(_)) if !simulation => Err(RequestError::SimulationOff),
        (None, Some(simulate)) => count(simulate),
        (None, None) => Err(shape("it has no field")),
    }
}

/// Parses the body of an HTTP request: either an operator's event or, as in ingest queue messages,
/// one task or an array of tasks.
pub fn read_body(body: &[u8], simulation: bool) -> Result<Request, HttpError> {
    let marked = body.strip_prefix(BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]).as_bytes());
    let body = marked.unwrap_or(body);
    if body.is_empty() {
        return Err(HttpError::MissingBody);
    }
    let event: &RawValue = serde_json::from_slice(body)?;
    if event.get().starts_with('[') {
        return Ok(tasks(event)?);
    }
    if event.get().starts_with('{') {
        let fields: Fields<'_> = serde_json::from_str(event.get())?;
        if !fields.contains_key("tasks") && !fields.contains_key("simulate") {
            return Ok(Request::Create(vec![event.to_owned()]));
        }
    }
    Ok(read(event, simulation)?)
}

fn tasks(tasks: &RawValue) -> Result<Request, RequestError> {
    if !tasks.get().starts_with('[') {
        return Err(shape("field tasks is not an array"));
    }
    let tasks: Vec<Box<RawValue>> =
        serde_json::from_str(tasks.get()).map_err(|error| invalid("field tasks", &error))?;
    match tasks.len() {
        count if count > MAX_TASKS => Err(RequestError::TooMany(count)),
        _ => Ok(Request::Create(tasks)),
    }
}

fn count(simulate: &RawValue) -> Result<Request, RequestError> {
    // Serde would interpret a list's first element as the count.
    if !simulate.get().starts_with('{') {
        return Err(shape("field simulate is not an object"));
    }
    let Simulate { count } =
        serde_json::from_str(simulate.get()).map_err(|error| invalid("field simulate", &error))?;
    match usize::try_from(count) {
        Ok(n) if (1..=MAX_TASKS).contains(&n) => Ok(Request::Simulate(n)),
        _ => Err(RequestError::Count(count)),
    }
}

fn shape(fault: &str) -> RequestError {
    RequestError::Shape(fault.to_owned())
}

fn invalid(place: &str, error: &serde_json::Error) -> RequestError {
    RequestError::Shape(format!("{place}: {error}"))
}

fn unknown(fields: &Fields<'_>) -> RequestError {
    let name = fields.keys().next().map(String::as_str).unwrap_or_default();
    // HTTP events of the older kind have these fields, but not the version of the newer kind.
    if fields.contains_key("body") && fields.contains_key("httpMethod") {
        return shape(
            "it is an HTTP event of an Application Load Balancer or of payload format 1.0; use a \
             Function URL, or an HTTP API with payload format 2.0",
        );
    }
    if name == "Records" {
        return shape(
            "it is an event of SQS or of another event source; let the source send the tasks to the \
             ingest queue, or invoke the function with {\"tasks\": [...]}",
        );
    }
    RequestError::Shape(format!("field {name:?} is unknown"))
}

/// The response status code of an executed HTTP request.
pub fn status_code(report: &CreateReport) -> u16 {
    let there = report.created.len() + report.duplicates.len() + report.outdated.len();
    match report.failed.as_slice() {
        [] => 200,
        _ if there > 0 => 207,
        failed if failed.iter().all(|task| task.retryable) => 503,
        failed if failed.iter().all(|task| !task.retryable) => 400,
        _ => 207,
    }
}

#[cfg(test)]
mod tests;
