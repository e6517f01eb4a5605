//! The store on DynamoDB. Each sequence has its own table.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Inserted, QueueStore};
use lifo_queue::task::{StatusKey, TaskId, TaskStatus, Ttl};
use serde_json::{Map, Value};
use simulator::dynamodb::dispatch;
use simulator::engine::Engine;

use super::{Failure, Subject};
use crate::operation::ForeignTask;

pub struct Table {
    client: Client,
    name: String,
    store: DynamoStore,
}

impl Table {
    /// Creates a new table with this name.
    pub fn create(engine: &Engine, name: String) -> Result<Self, Failure> {
        engine.create_table(dispatch::task_table(&name))?;
        let client = engine.client();
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
        for item in output.items.unwrap_or_default() {
            let attributes: Map<String, Value> = serde_dynamo::from_item(item)?;
            let id = attributes[schema::TASK_ID].as_str().unwrap_or_default();
            if ![schema::CONTROL_ITEM, schema::GROUPS_ITEM].contains(&id) {
                let id = TaskId::from_stored(id);
                tasks.insert(id, Record::from_attributes(attributes)?);
            }
        }
        Ok(tasks)
    }
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
