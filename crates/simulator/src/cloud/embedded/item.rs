//! Converts items in DynamoDB's JSON to records, and records to items.

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use lifo_queue::control::{
    BreakerByHand, Control, GroupStates, OpenBreaker, OperatorLimits, ProcessorLease, RedrivenTasks,
};
use lifo_queue::observed::Observed;
use lifo_queue::schema;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{StatusKey, TaskId, TokenText, Ttl, Version};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::{Map, Value, json};
use uuid::Uuid;

fn text<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    item[name]["S"].as_str()
}

fn number(item: &Value, name: &str) -> Option<i64> {
    item[name]["N"].as_str()?.parse().ok()
}

fn count(item: &Value, name: &str) -> u32 {
    number(item, name)
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or(0)
}

fn uuid(item: &Value, name: &str) -> Option<Uuid> {
    Uuid::parse_str(text(item, name)?).ok()
}

/// The record of a task's item, without the payload, on which no decision depends.
pub(super) fn decode(item: &Value) -> Option<Record> {
    let status: StatusKey = text(item, schema::TASK_STATUS)?.parse().ok()?;
    let ttl = match (item.get(schema::TTL), number(item, schema::TTL)) {
        (None, _) => Ttl::Missing,
        (_, Some(number)) => Ttl::from_number(number),
        (_, None) => Ttl::Malformed,
    };
    let token = text(item, schema::LEASE_TOKEN).map_or_else(TokenText::default, TokenText::from);
    Some(Record {
        status: status.status,
        created: Millis(number(item, schema::TASK_CREATED)?),
        ttl,
        expires_at: number(item, schema::EXPIRES_AT).map(EpochSeconds),
        attempts: count(item, schema::ATTEMPTS),
        total_attempts: count(item, schema::TOTAL_ATTEMPTS),
        lease_token: token.token,
        lease_until: number(item, schema::LEASE_UNTIL).map(Millis),
        not_before: number(item, schema::NOT_BEFORE).map(Millis),
        alone: item[schema::ALONE]["BOOL"].as_bool().unwrap_or(false),
        lease_expired: token.lease_expired,
        last_error: text(item, schema::LAST_ERROR).map(str::to_owned),
        payload: None,
        create_token: uuid(item, schema::CREATE_TOKEN),
        version: text(item, schema::TASK_VERSION).map(Version::from_stored),
        state_created: number(item, schema::STATE_CREATED).map(Millis),
        superseded: count(item, schema::SUPERSEDED),
        overtaken: item[schema::OVERTAKEN]["BOOL"].as_bool().unwrap_or(false),
        crashes: count(item, schema::CRASHES),
        revived: uuid(item, schema::REVIVED),
        trace: text(item, schema::TRACE_HEADER).and_then(|trace| trace.parse().ok()),
    })
}

/// The item of a record, without `payload`, `stateCreated`, `superseded`, `overtaken` and `crashes`, which
/// neither the index nor direct writers need.
pub(super) fn encode(id: &TaskId, record: &Record) -> Value {
    let mut item = Map::new();
    let mut set = |name: &str, kind: &str, value: Option<String>| {
        if let Some(value) = value {
            item.insert(name.to_owned(), json!({ kind: value }));
        }
    };
    let millis = |at: Option<Millis>| at.map(|at| at.0.to_string());
    let ttl = match record.ttl {
        Ttl::Seconds(at) => Some(at.0.to_string()),
        Ttl::Milliseconds(at) => Some(at.0.to_string()),
        Ttl::Missing | Ttl::Malformed => None,
    };
    let status = StatusKey::from(record.status).to_string();
    let expires_at = record.expires_at.map(|at| at.0.to_string());
    let token = TokenText {
        token: record.lease_token,
        lease_expired: record.lease_expired,
    };
    set(schema::TASK_ID, "S", Some(id.to_string()));
    set(schema::TASK_STATUS, "S", Some(status));
    // A direct writer, which writes no token, may write decimals.
    let decimals = if record.create_token.is_none() {
        ".5"
    } else {
        ""
    };
    let created = format!("{}{decimals}", record.created.0);
    set(schema::TASK_CREATED, "N", Some(created));
    set(schema::TTL, "N", ttl);
    set(schema::EXPIRES_AT, "N", expires_at);
    set(schema::ATTEMPTS, "N", Some(record.attempts.to_string()));
    set(
        schema::TOTAL_ATTEMPTS,
        "N",
        Some(record.total_attempts.to_string()),
    );
    set(
        schema::LEASE_TOKEN,
        "S",
        (token != TokenText::default()).then(|| token.to_string()),
    );
    set(schema::LEASE_UNTIL, "N", millis(record.lease_until));
    set(schema::NOT_BEFORE, "N", millis(record.not_before));
    set(schema::LAST_ERROR, "S", record.last_error.clone());
    set(
        schema::CREATE_TOKEN,
        "S",
        record.create_token.map(|token| token.to_string()),
    );
    set(
        schema::TASK_VERSION,
        "S",
        record.version.as_ref().map(Version::to_string),
    );
    set(
        schema::REVIVED,
        "S",
        record.revived.map(|token| token.to_string()),
    );
    set(
        schema::TRACE_HEADER,
        "S",
        record.trace.as_ref().map(ToString::to_string),
    );
    if record.alone {
        item.insert(schema::ALONE.to_owned(), json!({"BOOL": true}));
    }
    Value::Object(item)
}

/// The write request that puts a record's item in a batch.
pub(super) fn put_request(id: &TaskId, record: &Record) -> WriteRequest {
    let attribute = |value: &Value| match (value["S"].as_str(), value["N"].as_str()) {
        (Some(text), _) => AttributeValue::S(text.to_owned()),
        (_, Some(number)) => AttributeValue::N(number.to_owned()),
        _ => AttributeValue::Bool(value["BOOL"].as_bool().unwrap_or(false)),
    };
    let item = encode(id, record);
    let fields = item.as_object().into_iter().flatten();
    let item = fields
        .map(|(name, value)| (name.clone(), attribute(value)))
        .collect();
    // The builder fails only if the item is missing, and it is set.
    let put = PutRequest::builder().set_item(Some(item)).build().ok();
    WriteRequest::builder().set_put_request(put).build()
}

/// A value in DynamoDB's JSON as plain JSON: texts, numbers, maps and lists.
fn plain(value: &Value) -> Value {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else {
        return Value::Null;
    };
    match (kind.as_str(), value) {
        ("N", Value::String(digits)) => digits.parse().unwrap_or(Value::Null),
        ("M", Value::Object(fields)) => {
            let fields = fields.iter();
            fields
                .map(|(name, field)| (name.clone(), plain(field)))
                .collect()
        }
        ("L", Value::Array(values)) => values.iter().map(plain).collect(),
        _ => value.clone(),
    }
}

/// What the item of groups says about closed groups.
pub(super) fn groups(item: &Value) -> GroupStates {
    let read = |name: &str| plain(&item[name]);
    GroupStates {
        overrides: serde_json::from_value(read(schema::OVERRIDES)).unwrap_or_default(),
        learned: serde_json::from_value(read(schema::LEARNED)).unwrap_or_default(),
        ..GroupStates::default()
    }
}

pub(super) fn control(item: &Value) -> Control {
    let lease = || {
        Some(ProcessorLease {
            owner: uuid(item, schema::OWNER)?,
            message_id: text(item, schema::MESSAGE_ID)
                .unwrap_or_default()
                .to_owned(),
            until: Millis(number(item, schema::LEASE_UNTIL)?),
        })
    };
    let redriven = || {
        Some(RedrivenTasks {
            oldest: Millis(number(item, schema::OLDEST_REDRIVEN)?),
            until: EpochSeconds(number(item, schema::REDRIVEN_UNTIL)?),
        })
    };
    let breaker = || {
        Some(OpenBreaker {
            since: Millis(number(item, schema::BREAKER_SINCE)?),
            probes: count(item, schema::BREAKER_PROBES),
        })
    };
    let requested = number(item, schema::REQUESTED);
    Control {
        requested: requested.and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
        lease: lease(),
        paused_until: number(item, schema::PAUSED_UNTIL).map(Millis),
        pause_reason: text(item, schema::PAUSE_REASON).map(str::to_owned),
        notified_until: number(item, schema::NOTIFIED_UNTIL).map(Millis),
        notified_by: text(item, schema::NOTIFIED_BY).map(str::to_owned),
        idle_turns: count(item, schema::IDLE_TURNS),
        busy_pauses: count(item, schema::BUSY_PAUSES),
        rate_full_at: number(item, schema::RATE_FULL_AT).map(Millis),
        redriven: redriven(),
        breaker: breaker(),
        // No simulated operator sends commands to the breaker or limits starts.
        breaker_by_hand: BreakerByHand::default(),
        limits: OperatorLimits::default(),
        overloaded_since: number(item, schema::OVERLOADED_SINCE).map(Millis),
        // No decision of the queue depends on these.
        paused_by: None,
        observed: Observed::default(),
    }
}
