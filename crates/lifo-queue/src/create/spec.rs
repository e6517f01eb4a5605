//! A task as its producer describes it.

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::CreateSettings;
use super::payload::{self, InvalidPayload};
use crate::task::{InvalidTaskId, Keyed, NewTask, TaskId, Version};
use crate::time::{EpochSeconds, Millis};
use crate::trace;

const FIELDS: [&str; 7] = [
    "taskId",
    "key",
    "sequence",
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
        "the task is {0}, not an object; write {{\"taskId\"? or \"key\"? with \"sequence\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}"
    )]
    NotAnObject(&'static str),
    /// A field that does not exist, perhaps misspelt.
    #[error(
        "field {0:?} is unknown; a task has taskId or key, sequence, payload, ttlSeconds, taskCreated and delaySeconds"
    )]
    UnknownField(String),
    /// Both `taskId` and `key`.
    #[error("the task has both taskId and key; the key is the task's id, so leave taskId out")]
    IdAndKey,
    /// `key` is no string.
    #[error("key is {0}, not a string; quote it")]
    KeyType(&'static str),
    /// `key` cannot be a key.
    #[error("key {0}")]
    Key(#[source] InvalidTaskId),
    /// `sequence` is no whole number.
    #[error("sequence is {given}; give a whole number that is not negative")]
    Sequence {
        /// What was given.
        given: String,
    },
    /// `sequence` without `key`.
    #[error("the task has a sequence and no key; a sequence orders the states of a key")]
    SequenceWithoutKey,
    /// The state of a key would outlive the memory of its order.
    #[error(
        "the task expires after {given} s; a task with a key at most after {max} s, for as long as settled tasks are kept: give a smaller ttlSeconds, or raise tasks.successRetention and tasks.failureRetention"
    )]
    KeyTtl {
        /// Its expiry in seconds.
        given: u64,
        /// The longest that a task with a key may have.
        max: u64,
    },
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

/// Where a description comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The default of `taskCreated`.
    pub(crate) sent: Millis,
    /// When it is written.
    pub(crate) now: Millis,
    /// The message or the request.
    pub(crate) request: &'a str,
    /// The description's place in it, from 0. Of two states of a key the later one is newer.
    pub(crate) place: usize,
}

/// Checks one description and makes a task of it.
///
/// What the description leaves out comes from its transport: a task without `taskCreated` was
/// created when it was sent, one without `taskId` and `key` gets `default_id`. Whether it has
/// expired is the caller's to look at.
pub(crate) fn parse(
    spec: &Value,
    settings: &CreateSettings,
    origin: Origin<'_>,
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
    let created = created(fields, origin.sent)?;
    let ttl = ttl(fields, settings)?;
    let (id, keyed) = match key(fields)? {
        None => (id(fields, default_id)?, None),
        Some(key) => (key, Some(keyed(fields, settings, origin, created)?)),
    };
    let (given, max) = (ttl.as_secs(), settings.key_ttl.as_secs());
    if keyed.is_some() && given > max {
        return Err(InvalidTask::KeyTtl { given, max });
    }
    Ok(NewTask {
        id,
        created,
        expires_at: created.ceil_seconds().plus(ttl),
        not_before: delay(fields, ttl)?.map(|delay| created.plus(delay)),
        payload: payload.cloned(),
        create_token: Uuid::new_v4(),
        keyed,
        trace: trace::sample(origin.now),
    })
}

/// The key, if there is one; a sequence needs one.
fn key(fields: &Map<String, Value>) -> Result<Option<TaskId>, InvalidTask> {
    match fields.get("key") {
        None if fields.contains_key("sequence") => Err(InvalidTask::SequenceWithoutKey),
        None => Ok(None),
        Some(_) if fields.contains_key("taskId") => Err(InvalidTask::IdAndKey),
        Some(Value::String(key)) => TaskId::new(key.as_str())
            .map(Some)
            .map_err(InvalidTask::Key),
        Some(other) => Err(InvalidTask::KeyType(kind(other))),
    }
}

fn keyed(
    fields: &Map<String, Value>,
    settings: &CreateSettings,
    origin: Origin<'_>,
    created: Millis,
) -> Result<Keyed, InvalidTask> {
    let version = match fields.get("sequence") {
        None => {
            let Origin { request, place, .. } = origin;
            Version::by_time(created, &format!("{request}#{place:05}"))
        }
        Some(given) => match given.as_u64() {
            Some(sequence) => Version::by_sequence(sequence),
            None => {
                let given = given.to_string();
                return Err(InvalidTask::Sequence { given });
            }
        },
    };
    Ok(Keyed {
        version,
        place: settings.place,
        written: origin.now,
    })
}

/// The producer's id or key, if it gave one that is a string.
pub(super) fn given_id(spec: &Value) -> Option<&str> {
    let id = spec.get("taskId").or_else(|| spec.get("key"));
    id.and_then(Value::as_str)
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
