//! Items in the table's stream, in DynamoDB JSON: `{"taskId": {"S": "order-1"}}`.

use serde::Deserialize;
use serde_dynamo::AttributeValue;
use serde_json::Value;

use crate::store::parse_number;
use crate::task::{StatusKey, TaskStatus};

/// The attributes of an item. Each is read separately, so an unreadable one does not affect the
/// others.
pub(crate) struct Attributes<'a> {
    image: &'a Value,
    /// Names of the item's attributes that could not be read.
    pub(crate) unreadable: Vec<&'static str>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn of(image: &'a Value) -> Self {
        Self {
            image,
            unreadable: Vec::new(),
        }
    }

    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(AttributeValue) -> Option<T>,
    ) -> Option<T> {
        let value = self.image.get(name)?;
        let decoded = decode(value, read);
        if decoded.is_none() {
            self.unreadable.push(name);
        }
        decoded
    }
}

pub(crate) fn decode<T>(
    value: &Value,
    read: impl FnOnce(AttributeValue) -> Option<T>,
) -> Option<T> {
    read(AttributeValue::deserialize(value).ok()?)
}

pub(crate) fn text(value: AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

pub(crate) fn integer(value: AttributeValue) -> Option<i64> {
    match value {
        AttributeValue::N(digits) => parse_number(&digits),
        _ => None,
    }
}

pub(crate) fn count(value: AttributeValue) -> Option<u32> {
    u32::try_from(integer(value)?).ok()
}

pub(crate) fn status(value: AttributeValue) -> Option<TaskStatus> {
    let key: StatusKey = text(value)?.parse().ok()?;
    Some(key.status)
}

pub(crate) fn json(value: AttributeValue) -> Option<Value> {
    serde_dynamo::from_attribute_value(value).ok()
}
