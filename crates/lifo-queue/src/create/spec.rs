//! Parses producers' task descriptions.

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::CreateSettings;
use super::group::InvalidGroup;
use super::payload::{self, InvalidPayload};
use crate::task::{GroupName, InvalidTaskId, Keyed, NewTask, TaskId, Version};
use crate::time::{EpochSeconds, Millis};
use crate::trace;

const FIELDS: [&str; 8] = [
    "group",
    "taskId",
    "key",
    "sequence",
    "payload",
    "ttlSeconds",
    "taskCreated",
    "delaySeconds",
];

/// Maximum time by which a producer's clock can be ahead. A `taskCreated` within this time is
/// replaced by the time of sending, because a task from the future would otherwise stay the newest.
const MAX_AHEAD: Duration = Duration::from_secs(60);

/// Minimum `taskCreated`, in milliseconds: a time in 1973. A smaller value is probably in seconds,
/// because a value in seconds reaches this minimum only in the year 5138.
const FIRST_MILLIS: i64 = 100_000_000_000;

/// Why a description is rejected. Each message names the field and the fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidTask {
    #[error(
        "the task is {0}, not an object; write {{\"group\"?, \"taskId\"? or \"key\"? with \"sequence\"?, \"payload\"?, \"ttlSeconds\"?, \"taskCreated\"?, \"delaySeconds\"?}}"
    )]
    NotAnObject(&'static str),
    #[error(
        "field {0:?} is unknown; a task has group, taskId or key, sequence, payload, ttlSeconds, taskCreated and delaySeconds"
    )]
    UnknownField(String),
    #[error("group {0}")]
    Group(#[from] InvalidGroup),
    #[error("MessageGroupId {0}")]
    MessageGroup(#[source] InvalidGroup),
    #[error("the task has both taskId and key; the key is the task's id, so omit taskId")]
    IdAndKey,
    #[error("key is {0}, not a string; quote it")]
    KeyType(&'static str),
    #[error("key {0}")]
    Key(#[source] InvalidTaskId),
    #[error("sequence is {given}; give a whole number that is not negative")]
    Sequence { given: String },
    #[error("sequence requires a key, because it orders the states of a key")]
    SequenceWithoutKey,
    /// The task has a key, and its expiry exceeds the retention of settled tasks, which record the
    /// order of the key's states.
    #[error(
        "the task expires after {given} s; a task with a key at most after {max} s, for as long as settled tasks are kept: give a smaller ttlSeconds, or raise tasks.successRetention and tasks.failureRetention"
    )]
    KeyTtl {
        given: u64,
        /// Longest expiry of a task with a key, in seconds.
        max: u64,
    },
    #[error("taskId is {0}, not a string; quote it, or omit it for a UUIDv7")]
    IdType(&'static str),
    #[error("taskId {0}")]
    Id(#[from] InvalidTaskId),
    #[error("ttlSeconds is {given}; give a whole number of seconds from 1 to {max}")]
    Ttl {
        given: String,
        /// Longest expiry, in seconds.
        max: u64,
    },
    #[error(
        "taskCreated is {given}; give milliseconds since 1970 as a whole number, not seconds, at most a minute in the future, or omit it"
    )]
    Created { given: String },
    /// `delaySeconds` is not a whole number from 0 to `max`.
    #[error(
        "delaySeconds is {given}; give a whole number of seconds from 0 to {max}, because the task expires {expiry} s after its creation: give a smaller delay, or raise ttlSeconds"
    )]
    Delay {
        given: String,
        /// Maximum delay that this task's expiry allows, in seconds.
        max: u64,
        /// The task's expiry, in seconds after its creation.
        expiry: u64,
    },
    #[error(
        "the task expired at {} (epoch seconds), which is in the past: raise ttlSeconds, or omit taskCreated", .0.0
    )]
    Expired(EpochSeconds),
    /// The payload does not round-trip.
    #[error(transparent)]
    Payload(#[from] InvalidPayload),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// Time of sending: the default for `taskCreated`.
    pub(crate) sent: Millis,
    pub(crate) now: Millis,
    /// `MessageGroupId` of the message: the default for `group`.
    pub(crate) group: Option<&'a str>,
    /// Id of the message or request.
    pub(crate) request: &'a str,
    /// Index of the description in the message or request, from 0. Of two states of a key that were
    /// created in the same millisecond, the one with the higher index is newer.
    pub(crate) place: usize,
}

/// Checks one description and converts it to a task.
///
/// A task without `taskCreated` counts as created when it was sent. A task with neither `taskId`
/// nor `key` gets `default_id`. The caller checks whether the task has expired.
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
    let group = group(fields, settings, origin)?;
    let (id, keyed) = match key(fields)? {
        None => (id(fields, default_id)?, None),
        Some(key) => (key, Some(keyed(fields, settings, origin, created)?)),
    };
    let (given, max) = (ttl.as_secs(), settings.key_ttl.as_secs());
    if keyed.is_some() && given > max {
        return Err(InvalidTask::KeyTtl { given, max });
    }
    Ok(NewTask {
        id: match group {
            Some(group) => group.compose(&id)?,
            None => id,
        },
        created,
        expires_at: created.ceil_seconds().plus(ttl),
        not_before: delay(fields, ttl)?.map(|delay| created.plus(delay)),
        payload: payload.cloned(),
        create_token: Uuid::new_v4(),
        keyed,
        trace: trace::sample(origin.now),
    })
}

/// Returns the task's own group, or else its message's group. A queue without groups ignores the
/// message's group, because producers may set it for SQS fair queues.
fn group(
    fields: &Map<String, Value>,
    settings: &CreateSettings,
    origin: Origin<'_>,
) -> Result<Option<GroupName>, InvalidTask> {
    match (fields.get("group"), origin.group) {
        (Some(_), _) if !settings.groups => Err(InvalidGroup::Off.into()),
        (Some(Value::String(group)), _) => GroupName::new(group.as_str())
            .map(Some)
            .map_err(|error| InvalidGroup::from(error).into()),
        (Some(other), _) => Err(InvalidGroup::Type(kind(other)).into()),
        (None, Some(group)) if settings.groups => GroupName::new(group)
            .map(Some)
            .map_err(|error| InvalidTask::MessageGroup(error.into())),
        (None, _) => Ok(None),
    }
}

/// Returns the key, if there is one. A sequence without a key is an error.
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

/// The producer's `taskId` or `key`, if it is a string.
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
