//! Requests to create tasks: the events of `create-tasks`, and the bodies of its HTTP requests.
//!
//! | status code | meaning |
//! |---|---|
//! | 200 | the table contains every task, or a newer state of its key; the body is the report |
//! | 207 | some tasks failed, or all failed and only some are retryable; the body is the report |
//! | 400 | nothing was created, and a retry would fail too: the request or its tasks are invalid |
//! | 405 | the method is not POST |
//! | 503 | nothing was created, but the tasks are retryable: DynamoDB was unavailable or throttled |

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CreateReport, MAX_TASKS};

#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Create tasks from these descriptions, each of which is checked separately.
    Create(Vec<Value>),
    /// Create this number of simulated tasks.
    Simulate(usize),
}

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(
        "the event must be {{\"tasks\": [{{\"group\"?, \"taskId\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}, …]}} or {{\"simulate\": {{\"count\": N}}}}: {0}"
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
    NoBody,
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
            Self::NoBody | Self::Json(_) | Self::Request(_) => 400,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Simulate {
    count: u64,
}

/// Parses an event from an operator or a schedule. `simulation` enables simulation requests.
pub fn read(event: Value, simulation: bool) -> Result<Request, RequestError> {
    let shape = |fault: &str| RequestError::Shape(fault.to_owned());
    let Value::Object(mut fields) = event else {
        return Err(shape("it is not an object"));
    };
    match (fields.remove("tasks"), fields.remove("simulate")) {
        (Some(_), Some(_)) => Err(shape("it has both field tasks and field simulate")),
        (None, None) => Err(RequestError::Shape(match first_name(&fields) {
            Some(name) => format!("field {name:?} is unknown"),
            None => "it has no field".to_owned(),
        })),
        _ if !fields.is_empty() => {
            let name = first_name(&fields).unwrap_or_default();
            Err(RequestError::Shape(format!("field {name:?} is unknown")))
        }
        (Some(Value::Array(tasks)), None) if tasks.len() > MAX_TASKS => {
            Err(RequestError::TooMany(tasks.len()))
        }
        (Some(Value::Array(tasks)), None) => Ok(Request::Create(tasks)),
        (Some(_), None) => Err(shape("field tasks is not an array")),
        (None, Some(_)) if !simulation => Err(RequestError::SimulationOff),
        // Serde would interpret a list's first element as the count.
        (None, Some(simulate @ Value::Object(_))) => count(simulate),
        (None, Some(_)) => Err(shape("field simulate is not an object")),
    }
}

/// Parses the body of an HTTP request: either an operator's event or, as in ingest queue messages,
/// one task or an array of tasks.
pub fn read_body(body: &[u8], simulation: bool) -> Result<Request, HttpError> {
    if body.is_empty() {
        return Err(HttpError::NoBody);
    }
    let event = match serde_json::from_slice(body)? {
        Value::Array(tasks) => json!({"tasks": tasks}),
        Value::Object(fields)
            if !fields.contains_key("tasks") && !fields.contains_key("simulate") =>
        {
            json!({"tasks": [fields]})
        }
        other => other,
    };
    Ok(read(event, simulation)?)
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

fn count(simulate: Value) -> Result<Request, RequestError> {
    let Simulate { count } = serde_json::from_value(simulate)
        .map_err(|error| RequestError::Shape(format!("field simulate: {error}")))?;
    match usize::try_from(count) {
        Ok(n) if (1..=MAX_TASKS).contains(&n) => Ok(Request::Simulate(n)),
        _ => Err(RequestError::Count(count)),
    }
}

fn first_name(fields: &Map<String, Value>) -> Option<&str> {
    fields.keys().next().map(String::as_str)
}

#[cfg(test)]
mod tests;
