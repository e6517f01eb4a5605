//! The stores of a queue under test, and direct access to their tasks.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::schema;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::task::TaskId;
use serde_dynamo::Item;
use serde_json::{Value, json};
use simulator::dynamodb::TABLE;
use simulator::engine::Engine;
use simulator::layered::Layered;
use simulator::layered::tasks::{Layer, TaskCall};
use tokio::task_local;

task_local! {
    static ON_DYNAMODB: ();
}

/// Runs a test whose queues use DynamoDB instead of the in-memory store.
pub async fn on_dynamodb(test: impl Future<Output = ()>) {
    ON_DYNAMODB.scope((), test).await;
}

/// Runs tests on the in-memory store and on DynamoDB, with Tokio's clock paused.
#[macro_export]
macro_rules! on_both_stores {
    ($($test:ident,)*) => {
        mod memory {
            $(#[tokio::test(start_paused = true)] async fn $test() { super::$test().await; })*
        }
        mod dynamodb {
            $(#[tokio::test(start_paused = true)]
            async fn $test() { $crate::on_dynamodb(super::$test()).await; })*
        }
    };
}

/// A store whose tasks a test can read and write directly.
pub trait Table: QueueStore {
    fn record(&self, task: &TaskId) -> Option<Record>;

    /// All tasks, ordered by id.
    fn records(&self) -> Vec<(TaskId, Record)>;

    /// Writes a task without checks, as a direct writer could.
    fn put(&self, task: TaskId, record: Record);

    /// Deletes a task as DynamoDB's time to live would, regardless of its state.
    fn remove(&self, task: &TaskId);
}

/// Creates an empty table in the store of the running test.
pub(crate) fn table() -> Arc<dyn Table> {
    if ON_DYNAMODB.try_with(|()| ()).is_err() {
        return Arc::new(MemoryStore::new());
    }
    let engine = crate::database();
    let store = Arc::new(DynamoStore::new(engine.client(), TABLE));
    Arc::new(Layered(OnDynamo { engine, store }))
}

impl Table for MemoryStore {
    fn record(&self, task: &TaskId) -> Option<Record> {
        self.record(task)
    }

    fn records(&self) -> Vec<(TaskId, Record)> {
        self.records()
    }

    fn put(&self, task: TaskId, record: Record) {
        self.put(task, record);
    }

    fn remove(&self, task: &TaskId) {
        self.remove(task);
    }
}

struct OnDynamo {
    engine: Engine,
    store: Arc<DynamoStore>,
}

impl OnDynamo {
    fn call(&self, operation: &str, request: &Value) -> Value {
        let (status, body) = self.engine.call(operation, &request.to_string());
        assert_eq!(status, 200, "{operation}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

#[async_trait]
impl Layer for OnDynamo {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        call.on(self.store.clone()).await
    }
}

fn record(item: Value) -> (TaskId, Record) {
    let item: Item = serde_json::from_value(item).expect("an item");
    let attributes: serde_json::Map<_, _> = serde_dynamo::from_item(item).expect("attributes");
    let id = attributes[schema::TASK_ID].as_str().expect("an id");
    let id = TaskId::from_stored(id);
    (id, Record::from_attributes(attributes).expect("a task"))
}

impl Table for Layered<OnDynamo> {
    fn record(&self, task: &TaskId) -> Option<Record> {
        let key = json!({ schema::TASK_ID: { "S": task.as_str() } });
        let request = json!({ "TableName": TABLE, "Key": key, "ConsistentRead": true });
        let mut response = self.0.call("GetItem", &request);
        response.get_mut("Item").map(|item| record(item.take()).1)
    }

    fn records(&self) -> Vec<(TaskId, Record)> {
        let (mut records, mut start) = (vec![], Value::Null);
        loop {
            let mut request = json!({
                "TableName": TABLE,
                "ConsistentRead": true,
                "FilterExpression": "attribute_exists(taskStatus)",
            });
            if !start.is_null() {
                request["ExclusiveStartKey"] = start;
            }
            let mut response = self.0.call("Scan", &request);
            if let Some(items) = response["Items"].as_array_mut() {
                records.extend(items.iter_mut().map(|item| record(item.take())));
            }
            start = response["LastEvaluatedKey"].take();
            if start.is_null() {
                records.sort_by(|(one, _), (other, _)| one.cmp(other));
                return records;
            }
        }
    }

    fn put(&self, task: TaskId, record: Record) {
        let item: Item = serde_dynamo::to_item(record.attributes(&task)).expect("an item");
        let request = json!({ "TableName": TABLE, "Item": item });
        self.0.call("PutItem", &request);
    }

    fn remove(&self, task: &TaskId) {
        let key = json!({ schema::TASK_ID: { "S": task.as_str() } });
        let request = json!({ "TableName": TABLE, "Key": key });
        self.0.call("DeleteItem", &request);
    }
}
