//! A task as its producer describes it.

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::CreateSettings;
use super::payload::{self, InvalidPayload};
use crate::task::{InvalidTaskId, NewTask, TaskId};
use crate::time::{EpochSeconds, Millis};

const FIELDS: [&str; 5] = [
    "taskId",
    "payload",
    "ttlSeconds",
    "taskCreated",
    "delaySeconds",
];

/// By how much a producer's clock may be ahead of ours. A task from the future would stay the
/// newest until that moment, so what is ahead by less is created now.
const MAX_AHEAD: Duration = Duration::from_secs(60);

/// The first `taskCreated` that is not taken for seconds: 1973 in milliseconds, the year 5138 in
/// seconds.
const FIRST_MILLIS: i64 = 100_000_000_000;

/// Why a description is rejected; each message names the field and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidTask {
    /// Not a JSON object.
    #[error(
        "the task is {0}, not an object; write {{\"taskId\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}"
    )]
    NotAnObject(&'static str),
    /// A field that does not exist, perhaps misspelt.
    #[error(
        "field {0:?} is unknown; a task has taskId, payload, ttlSeconds, taskCreated and delaySeconds"
    )]
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
    /// `taskCreated` is no moment a task can have been created at.
    #[error(
        "taskCreated is {given}; give milliseconds since 1970 as a whole number, not seconds and at most a minute ahead of us, or leave it out"
    )]
    Created {
        /// What was given.
        given: String,
    },
    /// `delaySeconds` is no whole number in its range.
    #[error(
        "delaySeconds is {given}; give a whole number of seconds from 0 to {max}, because the task expires {expiry} s after its creation: give a smaller delay, or raise ttlSeconds"
    )]
    Delay {
        /// What was given.
        given: String,
        /// The longest delay that this task's expiry allows.
        max: u64,
        /// The task's expiry.
        expiry: u64,
    },
    /// By its `taskCreated` and its expiry it would be shed at once.
    #[error(
        "the task expired at {} (epoch seconds), which is past: raise ttlSeconds, or leave taskCreated out", .0.0
    )]
    Expired(EpochSeconds),
    /// The payload does not round-trip.
    #[error(transparent)]
    Payload(#[from] InvalidPayload),
}

/// Checks one description and makes a task of it.
///
/// What the description leaves out comes from its transport: a task without `taskCreated` was
/// created when it was `sent`, one without `taskId` gets `default_id`. Whether it has expired is
/// the caller's to look at.
pub(crate) fn parse(
    spec: &Value,
    settings: &CreateSettings,
    sent: Millis,
    default_id: impl FnOnce() -> TaskId,
) -> Result<NewTask, InvalidTask> {
    let Value::Object(fields) = spec else {
        return Err(InvalidTask::NotAnObject(kind(spec)));
    };
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(InvalidTask::UnknownField(unknown.clone()));
    }
    let payload = fields.get("payload");
    payload.map_or(Ok(()), payload::check)?;
    let created = created(fields, sent)?;
    let ttl = ttl(fields, settings)?;
    Ok(NewTask {
        id: id(fields, default_id)?,
        created,
        expires_at: created.ceil_seconds().plus(ttl),
        not_before: delay(fields, ttl)?.map(|delay| created.plus(delay)),
        payload: payload.cloned(),
        create_token: Uuid::new_v4(),
    })
}

/// The producer's id, if it gave one that is a string.
pub(super) fn given_id(spec: &Value) -> Option<&str> {
    spec.get("taskId").and_then(Value::as_str)
}

fn id(
    fields: &Map<String, Value>,
    default: impl FnOnce() -> TaskId,
) -> Result<TaskId, InvalidTask> {
    match fields.get("taskId") {
        None => Ok(default()),
        Some(Value::String(id)) => Ok(TaskId::new(id.as_str())?),
        Some(other) => Err(InvalidTask::IdType(kind(other))),
    }
}

fn created(fields: &Map<String, Value>, sent: Millis) -> Result<Millis, InvalidTask> {
    let Some(given) = fields.get("taskCreated") else {
        return Ok(sent);
    };
    match given.as_i64() {
        Some(at) if (FIRST_MILLIS..=sent.plus(MAX_AHEAD).0).contains(&at) => {
            Ok(Millis(at).min(sent))
        }
        _ => Err(InvalidTask::Created {
            given: given.to_string(),
        }),
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

fn delay(fields: &Map<String, Value>, ttl: Duration) -> Result<Option<Duration>, InvalidTask> {
    let Some(given) = fields.get("delaySeconds") else {
        return Ok(None);
    };
    let expiry = ttl.as_secs();
    let max = expiry.saturating_sub(1);
    match given.as_u64() {
        Some(0) => Ok(None),
        Some(seconds) if seconds <= max => Ok(Some(Duration::from_secs(seconds))),
        _ => Err(InvalidTask::Delay {
            given: given.to_string(),
            max,
            expiry,
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
