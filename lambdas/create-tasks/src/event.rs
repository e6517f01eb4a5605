//! The two events of `create-tasks`.

use lifo_queue::create::MAX_TASKS;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A request to the function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Create tasks from these descriptions, which are checked one by one.
    Create(Vec<Value>),
    /// Create this number of simulated tasks.
    Simulate(usize),
}

/// Why an event is rejected as a whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error(
        "the event must be {{\"tasks\": [{{\"taskId\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}, …]}} or {{\"simulate\": {{\"count\": N}}}}: {0}"
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Simulate {
    count: u64,
}

/// Reads the event of an operator or of a schedule.
pub(crate) fn read(event: Value, simulation: bool) -> Result<Request, RequestError> {
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
        // Serde would read a list's first element as the count.
        (None, Some(simulate @ Value::Object(_))) => count(simulate),
        (None, Some(_)) => Err(shape("field simulate is not an object")),
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
