//! Parses producers' task descriptions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;
use uuid::Uuid;

use super::CreateSettings;
use super::decimal::Decimal;
use super::group::InvalidGroup;
use super::payload::{self, InvalidPayload, excerpt};
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
#[derive(Debug, thiserror::Error)]
pub enum InvalidTask {
    #[error("the task is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
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

/// Checks one description, a JSON text, and converts it to a task.
///
/// Numbers are read from the text, because a parsed number may have other digits. A field that is
/// `null` counts as absent, except for the payload.
///
/// A task without `taskCreated` counts as created when it was sent. A task with neither `taskId`
/// nor `key` gets `default_id`. The caller checks whether the task has expired.
pub(crate) fn parse(
    spec: &str,
    settings: &CreateSettings,
    origin: Origin<'_>,
    default_id: impl FnOnce() -> TaskId,
) -> Result<NewTask, InvalidTask> {
    let fields = &fields(spec)?;
    let payload = fields.get("payload").map(|text| payload::read(text));
    let payload = payload.transpose()?;
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
        payload,
        create_token: Uuid::new_v4(),
        keyed,
        trace: trace::sample(origin.now),
    })
}

/// The fields of a description that are not `null`, and the payload.
type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn fields(spec: &str) -> Result<Fields<'_>, InvalidTask> {
    let text: &RawValue = serde_json::from_str(spec)?;
    if !text.get().starts_with('{') {
        return Err(InvalidTask::NotAnObject(kind(text)));
    }
    let mut fields: Fields<'_> = serde_json::from_str(text.get())?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(InvalidTask::UnknownField(unknown.clone()));
    }
    fields.retain(|name, value| name == "payload" || value.get() != "null");
    Ok(fields)
}

/// The text of a string; `Err` with the kind of any other value.
fn string(value: &RawValue) -> Result<Result<String, &'static str>, InvalidTask> {
    match kind(value) {
        "a string" => Ok(Ok(serde_json::from_str(value.get())?)),
        other => Ok(Err(other)),
    }
}

/// A whole number in any form, such as `120`, `120.0` or `1.2e2`; `None` for any other value.
fn whole(value: &RawValue) -> Option<u64> {
    match kind(value) {
        "a number" => Decimal::read(value.get()).whole(),
        _ => None,
    }
}

/// Returns the task's own group, or else its message's group. A queue without groups ignores the
/// message's group, because producers may set it for SQS fair queues.
fn group(
    fields: &Fields<'_>,
    settings: &CreateSettings,
    origin: Origin<'_>,
) -> Result<Option<GroupName>, InvalidTask> {
    match (fields.get("group"), origin.group) {
        (Some(_), _) if !settings.groups => Err(InvalidGroup::Off.into()),
        (Some(group), _) => {
            let group = string(group)?.map_err(InvalidGroup::Type)?;
            Ok(Some(GroupName::new(group).map_err(InvalidGroup::from)?))
        }
        (None, Some(group)) if settings.groups => GroupName::new(group)
            .map(Some)
            .map_err(|error| InvalidTask::MessageGroup(error.into())),
        (None, _) => Ok(None),
    }
}

/// Returns the key, if there is one. A sequence without a key is an error.
fn key(fields: &Fields<'_>) -> Result<Option<TaskId>, InvalidTask> {
    match fields.get("key") {
        None if fields.contains_key("sequence") => Err(InvalidTask::SequenceWithoutKey),
        None => Ok(None),
        Some(_) if fields.contains_key("taskId") => Err(InvalidTask::IdAndKey),
        Some(key) => {
            let key = string(key)?.map_err(InvalidTask::KeyType)?;
            TaskId::new(key).map(Some).map_err(InvalidTask::Key)
        }
    }
}

fn keyed(
    fields: &Fields<'_>,
    settings: &CreateSettings,
    origin: Origin<'_>,
    created: Millis,
) -> Result<Keyed, InvalidTask> {
    let version = match fields.get("sequence") {
        None => {
            let Origin { request, place, .. } = origin;
            Version::by_time(created, &format!("{request}#{place:05}"))
        }
        Some(given) => match whole(given) {
            Some(sequence) => Version::by_sequence(sequence),
            None => {
                let given = quoted(given);
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
pub(super) fn given_id(spec: &str) -> Option<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(spec).ok()?;
    let id = |name| string(fields.get(name)?).ok()?.ok();
    id("taskId").or_else(|| id("key"))
}

fn id(fields: &Fields<'_>, default: impl FnOnce() -> TaskId) -> Result<TaskId, InvalidTask> {
    match fields.get("taskId") {
        None => Ok(default()),
        Some(id) => Ok(TaskId::new(string(id)?.map_err(InvalidTask::IdType)?)?),
    }
}

fn created(fields: &Fields<'_>, sent: Millis) -> Result<Millis, InvalidTask> {
    let Some(given) = fields.get("taskCreated") else {
        return Ok(sent);
    };
    match whole(given).and_then(|at| i64::try_from(at).ok()) {
        Some(at) if (FIRST_MILLIS..=sent.plus(MAX_AHEAD).0).contains(&at) => {
            Ok(Millis(at).min(sent))
        }
        _ => Err(InvalidTask::Created {
            given: quoted(given),
        }),
    }
}

fn ttl(fields: &Fields<'_>, settings: &CreateSettings) -> Result<Duration, InvalidTask> {
    let Some(given) = fields.get("ttlSeconds") else {
        return Ok(settings.default_ttl);
    };
    let max = settings.max_ttl.as_secs();
    match whole(given) {
        Some(seconds) if (1..=max).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(InvalidTask::Ttl {
            given: quoted(given),
            max,
        }),
    }
}

fn delay(fields: &Fields<'_>, ttl: Duration) -> Result<Option<Duration>, InvalidTask> {
    let Some(given) = fields.get("delaySeconds") else {
        return Ok(None);
    };
    let expiry = ttl.as_secs();
    let max = expiry.saturating_sub(1);
    match whole(given) {
        Some(0) => Ok(None),
        Some(seconds) if seconds <= max => Ok(Some(Duration::from_secs(seconds))),
        _ => Err(InvalidTask::Delay {
            given: quoted(given),
            max,
            expiry,
        }),
    }
}

/// A value in an error message, as it was written.
fn quoted(value: &RawValue) -> String {
    excerpt(value.get())
}

fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}
