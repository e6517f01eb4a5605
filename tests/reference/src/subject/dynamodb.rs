//! The store on DynamoDB. Each sequence has its own table.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Inserted, QueueStore};
use lifo_queue::task::{LeaseToken, StatusKey, TaskId, TaskStatus, Ttl, Version};
use lifo_queue::time::{EpochSeconds, Millis};
use simulator::dynamodb::{EmbeddedDynamo, dispatch};
use uuid::Uuid;

use super::{Failure, Subject};
use crate::operation::ForeignTask;

type Item = HashMap<String, AttributeValue>;

pub struct Table {
    client: Client,
    name: String,
    store: DynamoStore,
}

impl Table {
    /// A fresh table of this name.
    pub fn create(dynamo: &EmbeddedDynamo, name: String) -> Result<Self, Failure> {
        dispatch::create_task_table(&dynamo.database, &name)?;
        let client = dynamo.client.clone();
        let store = DynamoStore::new(client.clone(), &name);
        Ok(Self {
            client,
            name,
            store,
        })
    }
}

impl Subject for Table {
    fn store(&self) -> &dyn QueueStore {
        &self.store
    }

    async fn put(&self, task: &ForeignTask) -> Result<Inserted, Failure> {
        let pending = StatusKey::from(TaskStatus::Pending).to_string();
        let put = self
            .client
            .put_item()
            .table_name(&self.name)
            .item(schema::TASK_ID, AttributeValue::S(task.id.to_string()))
            .item(schema::TASK_STATUS, AttributeValue::S(pending))
            .item(schema::TASK_CREATED, number(task.created.0))
            .condition_expression("attribute_not_exists(#id)")
            .expression_attribute_names("#id", schema::TASK_ID);
        let ttl = match task.ttl {
            Ttl::Missing => None,
            Ttl::Seconds(at) => Some(number(at.0)),
            Ttl::Milliseconds(at) => Some(number(at.0)),
            Ttl::Malformed => Some(AttributeValue::S("tomorrow".to_owned())),
        };
        let put = match ttl {
            None => put,
            Some(ttl) => put.item(schema::TTL, ttl),
        };
        match put.send().await {
            Ok(_) => Ok(Inserted::Created),
            Err(error) => match error.as_service_error() {
                Some(rejected) if rejected.is_conditional_check_failed_exception() => {
                    Ok(Inserted::Duplicate)
                }
                _ => Err(error.into()),
            },
        }
    }

    async fn tasks(&self) -> Result<BTreeMap<TaskId, Record>, Failure> {
        let scan = self.client.scan().table_name(&self.name);
        let output = scan.consistent_read(true).send().await?;
        let mut tasks = BTreeMap::new();
        for mut item in output.items.unwrap_or_default() {
            let id = required(text(&mut item, schema::TASK_ID)?, schema::TASK_ID)?;
            if ![schema::CONTROL_ITEM, schema::GROUPS_ITEM].contains(&id.as_str()) {
                tasks.insert(TaskId::from_stored(id), record(item)?);
            }
        }
        Ok(tasks)
    }
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn required<T>(value: Option<T>, attribute: &str) -> Result<T, Failure> {
    value.ok_or_else(|| format!("{attribute} is missing").into())
}

fn text(item: &mut Item, attribute: &str) -> Result<Option<String>, Failure> {
    match item.remove(attribute) {
        None => Ok(None),
        Some(AttributeValue::S(text)) => Ok(Some(text)),
        Some(other) => Err(format!("{attribute} is not a string but {other:?}").into()),
    }
}

fn integer(item: &mut Item, attribute: &str) -> Result<Option<i64>, Failure> {
    match item.remove(attribute) {
        None => Ok(None),
        Some(AttributeValue::N(digits)) => Ok(Some(digits.parse()?)),
        Some(other) => Err(format!("{attribute} is not a number but {other:?}").into()),
    }
}

fn count(item: &mut Item, attribute: &str) -> Result<u32, Failure> {
    let number = integer(item, attribute)?.unwrap_or(0);
    Ok(u32::try_from(number)?)
}

fn id(item: &mut Item, attribute: &str) -> Result<Option<Uuid>, Failure> {
    let text = text(item, attribute)?;
    Ok(text.map(|text| Uuid::parse_str(&text)).transpose()?)
}

fn flag(item: &mut Item, attribute: &str) -> Result<bool, Failure> {
    match item.remove(attribute) {
        None => Ok(false),
        Some(AttributeValue::Bool(true)) => Ok(true),
        Some(other) => Err(format!("{attribute} is {other:?}").into()),
    }
}

fn ttl(item: &mut Item) -> Result<Ttl, Failure> {
    if let Some(AttributeValue::S(_)) = item.get(schema::TTL) {
        item.remove(schema::TTL);
        return Ok(Ttl::Malformed);
    }
    let number = integer(item, schema::TTL)?;
    Ok(number.map_or(Ttl::Missing, Ttl::from_number))
}

/// A task's item, read strictly: every attribute has its type, and no other attribute exists.
fn record(mut item: Item) -> Result<Record, Failure> {
    let item = &mut item;
    let status = required(text(item, schema::TASK_STATUS)?, schema::TASK_STATUS)?;
    let created = required(integer(item, schema::TASK_CREATED)?, schema::TASK_CREATED)?;
    let alone = flag(item, schema::ALONE)?;
    let payload = item.remove(schema::PAYLOAD);
    let stored = text(item, schema::LEASE_TOKEN)?.unwrap_or_default();
    let (token, lease_expired) = match stored.strip_suffix("#suspect") {
        Some(token) => (token, true),
        None => (stored.as_str(), false),
    };
    let token = (!token.is_empty()).then(|| Uuid::parse_str(token));
    let token = token.transpose()?;
    let record = Record {
        status: status.parse::<StatusKey>()?.status,
        created: Millis(created),
        ttl: ttl(item)?,
        expires_at: integer(item, schema::EXPIRES_AT)?.map(EpochSeconds),
        attempts: count(item, schema::ATTEMPTS)?,
        total_attempts: count(item, schema::TOTAL_ATTEMPTS)?,
        lease_token: token.map(LeaseToken),
        lease_until: integer(item, schema::LEASE_UNTIL)?.map(Millis),
        not_before: integer(item, schema::NOT_BEFORE)?.map(Millis),
        alone,
        lease_expired,
        last_error: text(item, schema::LAST_ERROR)?,
        payload: payload
            .map(serde_dynamo::from_attribute_value)
            .transpose()?,
        create_token: id(item, schema::CREATE_TOKEN)?,
        version: text(item, schema::TASK_VERSION)?.map(Version::from_stored),
        state_created: integer(item, schema::STATE_CREATED)?.map(Millis),
        superseded: count(item, schema::SUPERSEDED)?,
        overtaken: flag(item, schema::OVERTAKEN)?,
        crashes: count(item, schema::CRASHES)?,
        revived: id(item, schema::REVIVED)?,
        trace: text(item, schema::TRACE_HEADER)?
            .map(|trace| trace.parse())
            .transpose()?,
    };
    integer(item, schema::TASK_UPDATED)?;
    match item.keys().next() {
        None => Ok(record),
        Some(unknown) => Err(format!("{unknown} is not an attribute of a task").into()),
    }
}
