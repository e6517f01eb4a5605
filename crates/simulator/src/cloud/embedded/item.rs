//! Converts between items in DynamoDB JSON and records.

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use lifo_queue::control::{BreakerByHand, Control, GroupStates, OperatorLimits};
use lifo_queue::observed::Observed;
use lifo_queue::schema;
use lifo_queue::store::dynamodb;
use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use serde_dynamo::{AttributeValue, Item};
use serde_json::Value;

/// Returns the attributes of an item. Empty if the value is not an item.
fn attributes(item: Value) -> Item {
    serde_json::from_value(item).unwrap_or_default()
}

/// Converts a task's item to a record without the payload, which does not affect any decision.
pub(super) fn decode(item: Value) -> Option<Record> {
    let attributes = serde_dynamo::from_item(attributes(item)).ok()?;
    let record = Record::from_attributes(attributes).ok()?;
    Some(Record {
        payload: None,
        ..record
    })
}

pub(super) fn encode(id: &TaskId, record: &Record) -> Item {
    let item = serde_dynamo::to_item(record.attributes(id));
    let mut item: Item = item.unwrap_or_default();
    if record.create_token.is_none() {
        // A task without a token is from a direct writer, which can write decimals.
        let created = AttributeValue::N(format!("{}.5", record.created.0));
        item.insert(schema::TASK_CREATED.to_owned(), created);
    }
    item
}

/// Builds the batch write request that puts a record's item.
pub(super) fn put_request(id: &TaskId, record: &Record) -> WriteRequest {
    let item = encode(id, record).into();
    // The builder fails only if the item is missing, and it is set.
    let put = PutRequest::builder().set_item(Some(item)).build().ok();
    WriteRequest::builder().set_put_request(put).build()
}

/// Reads the states of closed groups from the groups item.
pub(super) fn groups(item: Value) -> GroupStates {
    dynamodb::groups(&attributes(item).into()).unwrap_or_default()
}

/// Reads the control item, without the parts that do not affect a schedule's decisions.
pub(super) fn control(item: Value) -> Control {
    Control {
        breaker_by_hand: BreakerByHand::default(),
        limits: OperatorLimits::default(),
        paused_by: None,
        observed: Observed::default(),
        ..dynamodb::control(&attributes(item).into())
    }
}
