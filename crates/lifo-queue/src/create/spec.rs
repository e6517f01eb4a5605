//! A task as its producer describes it.

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::CreateSettings;
use super::payload::{self, InvalidPayload};
use crate::task::{InvalidTaskId, NewTask, TaskId};
use crate::time::Millis;

const FIELDS: [&str; 3] = ["taskId", "payload", "ttlSeconds"];

/// Why a description is refused; each message names the field and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidTask {
    /// Not a JSON object.
    #[error("the task is {0}, not an object; write {{\"taskId\"?, \"payload\"?, \"ttlSeconds\"?}}")]
    NotAnObject(&'static str),
    /// A field that does not exist, perhaps misspelt.
    #[error("field {0:?} is unknown; a task has taskId, payload and ttlSeconds")]
    UnknownField(String),
    /// `taskId` is no string.
    #[error("taskId is {0}, not a string; quote it, or leave it out for a UUIDv7")]
    IdType(&'static str),
    /// `taskId` cannot be a key.
    #[error("taskId {0}")]
    Id(#[from] InvalidTaskId),
    /// `ttlSeconds` is no whole number in its range.
    #[error("ttlSeconds is {given}; give a whole number of seconds from 1 to {max}")]
    Ttl {
        /// What was given.
        given: String,
        /// The longest expiry allowed here.
        max: u64,
    },
    /// The payload does not round-trip.
    #[error(transparent)]
    Payload(#[from] InvalidPayload),
}

/// Checks one description and makes a task of it, created now.
pub(super) fn parse(
    spec: &Value,
    settings: &CreateSettings,
    now: Millis,
) -> Result<NewTask, InvalidTask> {
    let Value::Object(fields) = spec else {
        return Err(InvalidTask::NotAnObject(kind(spec)));
    };
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(InvalidTask::UnknownField(unknown.clone()));
    }
    let payload = fields.get("payload");
    payload.map_or(Ok(()), payload::check)?;
    Ok(NewTask {
        id: id(fields)?,
        created: now,
        expires_at: now.ceil_seconds().plus(ttl(fields, settings)?),
        payload: payload.cloned(),
        create_token: Uuid::new_v4(),
    })
}

/// The producer's id, if it gave one that is a string.
pub(super) fn given_id(spec: &Value) -> Option<&str> {
    spec.get("taskId").and_then(Value::as_str)
}

fn id(fields: &Map<String, Value>) -> Result<TaskId, InvalidTask> {
    match fields.get("taskId") {
        None => Ok(TaskId::fresh()),
        Some(Value::String(id)) => Ok(TaskId::new(id.as_str())?),
        Some(other) => Err(InvalidTask::IdType(kind(other))),
    }
}

fn ttl(fields: &Map<String, Value>, settings: &CreateSettings) -> Result<Duration, InvalidTask> {
    let Some(given) = fields.get("ttlSeconds") else {
        return Ok(settings.default_ttl);
    };
    let max = settings.max_ttl.as_secs();
    match given.as_u64() {
        Some(seconds) if (1..=max).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(InvalidTask::Ttl {
            given: given.to_string(),
            max,
        }),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
