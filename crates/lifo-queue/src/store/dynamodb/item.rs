//! Converts items to tasks and back. Parsing is lenient, because a direct writer may have written
//! the item.

mod special;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use self::special::{control, groups};
pub(super) use self::special::{idle_turns, meter, redriven};
use crate::schema;
use crate::store::{Candidate, Cursor, Seen, StandingLease, StoreError, parse_number};
use crate::task::{
    Lease, LeaseToken, NewTask, StatusKey, Task, TaskId, TaskStatus, TokenText, Ttl, Version,
};
use crate::time::{EpochSeconds, Millis};
use crate::trace::TraceHeader;

/// An item in the SDK's types.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A string attribute's value.
pub(super) fn string(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

/// A number attribute's value.
pub(super) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn text<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
    item.get(attribute)
        .and_then(|value| value.as_s().ok())
        .map(String::as_str)
}

/// A number, rounded down because a direct writer may have written decimals.
fn integer(item: &Item, attribute: &str) -> Option<i64> {
    parse_number(item.get(attribute)?.as_n().ok()?)
}

fn count(item: &Item, attribute: &str) -> Option<u32> {
    u32::try_from(integer(item, attribute)?).ok()
}

/// The token of the current or last lease, and its marks.
fn token_text(item: &Item) -> TokenText {
    text(item, schema::LEASE_TOKEN).map_or_else(TokenText::default, TokenText::from)
}

/// Whether the item has this status and this lease token.
pub(super) fn is_ours(item: &Item, status: TaskStatus, ours: LeaseToken) -> bool {
    let stored = text(item, schema::TASK_STATUS).and_then(|text| text.parse::<StatusKey>().ok());
    stored.is_some_and(|key| key.status == status) && token_text(item).token == Some(ours)
}

/// Whether the put with this token created the item or its current state.
pub(super) fn is_created_by(item: &Item, create_token: Uuid) -> bool {
    text(item, schema::CREATE_TOKEN) == Some(create_token.to_string().as_str())
}

/// The version of the item's state; `None` for a task without a key.
pub(super) fn version(item: &Item) -> Option<Version> {
    text(item, schema::TASK_VERSION).map(Version::from_stored)
}

/// Whether a newer state was written during the current run.
pub(super) fn is_overtaken(item: &Item) -> bool {
    item.contains_key(schema::OVERTAKEN)
}

/// A new task's payload as an attribute.
pub(super) fn payload(task: &NewTask) -> Result<Option<AttributeValue>, StoreError> {
    let payload = task.payload.as_ref();
    payload.map(|payload| map("PutItem", payload)).transpose()
}

/// A value as an attribute.
pub(super) fn map(
    operation: &'static str,
    value: &impl Serialize,
) -> Result<AttributeValue, StoreError> {
    serde_dynamo::to_attribute_value(value).map_err(|error: serde_dynamo::Error| {
        StoreError::Rejected {
            operation,
            code: "Serialization".to_owned(),
            source: Box::new(error),
        }
    })
}

/// A new task's item.
pub(super) fn new_item(task: &NewTask) -> Result<Item, StoreError> {
    let mut item = Item::from([
        (schema::TASK_ID.to_owned(), string(&task.id)),
        (
            schema::TASK_STATUS.to_owned(),
            string(StatusKey::from(TaskStatus::Pending)),
        ),
        (schema::TASK_CREATED.to_owned(), number(task.created.0)),
        (schema::TASK_UPDATED.to_owned(), number(task.created.0)),
        (schema::TTL.to_owned(), number(task.expires_at.0)),
        (schema::ATTEMPTS.to_owned(), number(0)),
        (schema::TOTAL_ATTEMPTS.to_owned(), number(0)),
        (schema::CREATE_TOKEN.to_owned(), string(task.create_token)),
    ]);
    if let Some(at) = task.not_before {
        item.insert(schema::NOT_BEFORE.to_owned(), number(at.0));
    }
    if let Some(trace) = &task.trace {
        item.insert(schema::TRACE_HEADER.to_owned(), string(trace));
    }
    if let Some(payload) = payload(task)? {
        item.insert(schema::PAYLOAD.to_owned(), payload);
    }
    Ok(item)
}

/// The value of `ttl`.
pub(super) fn ttl(item: &Item) -> Ttl {
    match (item.contains_key(schema::TTL), integer(item, schema::TTL)) {
        (false, _) => Ttl::Missing,
        (true, Some(number)) => Ttl::from_number(number),
        (true, None) => Ttl::Malformed,
    }
}

fn undecodable(item: &Item, operation: &'static str, attribute: &str) -> StoreError {
    StoreError::Undecodable {
        operation,
        attribute: attribute.to_owned(),
        key: text(item, schema::TASK_ID).unwrap_or("?").to_owned(),
    }
}

/// Reads an index entry.
pub(super) fn candidate(item: &Item) -> Result<Candidate, StoreError> {
    let missing = |attribute| undecodable(item, "Query", attribute);
    Ok(Candidate {
        id: TaskId::from_stored(
            text(item, schema::TASK_ID).ok_or_else(|| missing(schema::TASK_ID))?,
        ),
        created: integer(item, schema::TASK_CREATED)
            .map(Millis)
            .ok_or_else(|| missing(schema::TASK_CREATED))?,
        ttl: ttl(item),
        not_before: integer(item, schema::NOT_BEFORE).map(Millis),
        attempts: count(item, schema::ATTEMPTS).unwrap_or(0),
        // The sweep replaces the token with the mark. A later return adds the mark to the new
        // token. Earlier versions deleted the token and wrote no mark.
        lease_expired: token_text(item).lease_expired
            || count(item, schema::ATTEMPTS).is_some_and(|attempts| attempts > 0)
                && !item.contains_key(schema::LEASE_TOKEN),
    })
}

/// The status of a task.
pub(super) fn status(item: &Item) -> Result<TaskStatus, StoreError> {
    text(item, schema::TASK_STATUS)
        .and_then(|text| text.parse::<StatusKey>().ok())
        .map(|key| key.status)
        .ok_or_else(|| undecodable(item, "GetItem", schema::TASK_STATUS))
}

/// When a task was created, and the stored value.
pub(super) fn created(item: &Item) -> Result<(Millis, &AttributeValue), StoreError> {
    let created = integer(item, schema::TASK_CREATED).map(Millis);
    created
        .zip(item.get(schema::TASK_CREATED))
        .ok_or_else(|| undecodable(item, "GetItem", schema::TASK_CREATED))
}

/// Whether an operator saw this state of the task.
pub(super) fn is_seen(item: &Item, seen: &Seen) -> bool {
    match seen {
        Seen::Any => true,
        Seen::Put(token) => text(item, schema::CREATE_TOKEN) == Some(token.as_str()),
        Seen::Created(at) => integer(item, schema::TASK_CREATED) == Some(at.0),
    }
}

/// Condition that a task has the state that an operator saw, and the condition's values.
pub(super) fn seen_condition(seen: &Seen) -> (&'static str, Vec<(&'static str, AttributeValue)>) {
    match seen {
        Seen::Any => ("", Vec::new()),
        Seen::Put(token) => (" AND createToken = :seen", vec![(":seen", string(token))]),
        // A number that a direct writer wrote may have decimals or be too large for `Millis`.
        Seen::Created(Millis::MAX) => (
            " AND taskCreated >= :seen",
            vec![(":seen", number(i64::MAX))],
        ),
        Seen::Created(Millis(at)) => (
            " AND taskCreated >= :seen AND taskCreated < :seenEnd",
            vec![(":seen", number(at)), (":seenEnd", number(at + 1))],
        ),
    }
}

/// Reads an index entry of a TAKEN task; `None` if no take wrote it.
pub(super) fn standing_lease(item: &Item) -> Option<StandingLease> {
    let lease = Lease {
        task: TaskId::from_stored(text(item, schema::TASK_ID)?),
        token: token_text(item).token?,
        until: lease_until(item)?,
    };
    Some(StandingLease {
        lease,
        attempts: count(item, schema::ATTEMPTS)?,
    })
}

/// Converts DynamoDB's `LastEvaluatedKey`.
pub(super) fn cursor(key: &Item) -> Result<Cursor, StoreError> {
    let missing = |attribute| undecodable(key, "Query", attribute);
    let created = key
        .get(schema::TASK_CREATED)
        .and_then(|value| value.as_n().ok());
    Ok(Cursor {
        created: created
            .ok_or_else(|| missing(schema::TASK_CREATED))?
            .clone(),
        task: TaskId::from_stored(
            text(key, schema::TASK_ID).ok_or_else(|| missing(schema::TASK_ID))?,
        ),
    })
}

/// Converts to DynamoDB's `ExclusiveStartKey`.
pub(super) fn start_key(cursor: &Cursor, status: StatusKey) -> Item {
    Item::from([
        (schema::TASK_ID.to_owned(), string(&cursor.task)),
        (schema::TASK_STATUS.to_owned(), string(status)),
        (schema::TASK_CREATED.to_owned(), number(&cursor.created)),
    ])
}

/// When the lease of a TAKEN task expires.
pub(super) fn lease_until(item: &Item) -> Option<Millis> {
    integer(item, schema::LEASE_UNTIL).map(Millis)
}

/// Reads a task that was just taken. The error names the unreadable attribute.
pub(super) fn taken_task(item: &Item, lease: &Lease) -> Result<Task, String> {
    let unreadable = |attribute: &str| format!("{attribute} is missing or has the wrong type");
    let payload = match item.get(schema::PAYLOAD) {
        None => serde_json::Value::Null,
        Some(value) => serde_dynamo::from_attribute_value(value.clone())
            .map_err(|error| format!("{} is not JSON: {error}", schema::PAYLOAD))?,
    };
    Ok(Task {
        task_id: lease.task.clone(),
        version: version(item),
        task_created: integer(item, schema::STATE_CREATED)
            .or_else(|| integer(item, schema::TASK_CREATED))
            .map(Millis)
            .ok_or_else(|| unreadable(schema::TASK_CREATED))?,
        attempt: count(item, schema::ATTEMPTS).ok_or_else(|| unreadable(schema::ATTEMPTS))?,
        total_attempts: count(item, schema::TOTAL_ATTEMPTS)
            .ok_or_else(|| unreadable(schema::TOTAL_ATTEMPTS))?,
        expires_at: integer(item, schema::EXPIRES_AT)
            .map(EpochSeconds)
            .ok_or_else(|| unreadable(schema::EXPIRES_AT))?,
        payload,
    })
}

/// The trace of a task; `None` if it is missing or not a trace header.
pub(super) fn trace(item: &Item) -> Option<TraceHeader> {
    text(item, schema::TRACE_HEADER)?.parse().ok()
}

/// All attributes as JSON. An attribute without a JSON representation, such as binary, becomes a
/// string that names its type.
pub(super) fn attributes(item: Item) -> Map<String, Value> {
    let json = |value: AttributeValue| {
        let kind = format!("{value:?}");
        serde_dynamo::from_attribute_value(value).unwrap_or_else(|_| {
            let kind = kind.split('(').next().unwrap_or_default();
            Value::String(format!("(an attribute of type {kind})"))
        })
    };
    item.into_iter()
        .map(|(name, value)| (name, json(value)))
        .collect()
}

#[cfg(test)]
mod tests;
