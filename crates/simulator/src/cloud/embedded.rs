//! The table on the embedded DynamoDB, behind the real SDK client. Requests go through an
//! in-process connector and the simulated network to the database's own functions.

mod connector;
mod item;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_smithy_async::time::TimeSource;
use dynoxide::Database;
use lifo_queue::control::{Control, GroupStates};
use lifo_queue::schema::{CONTROL_ITEM, GROUPS_ITEM};
use lifo_queue::store::QueueStore;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::memory::Record;
use lifo_queue::task::TaskId;
use lifo_queue::time::Clock;
use serde_json::{Value, json};

use self::connector::Connector;
use super::clock::SkewedClock;
use super::process_store::{Access, ProcessStore};
use super::world::{Actor, Backend};
use crate::dynamodb::{NotStarted, TABLE, dispatch};
use crate::protocol;
use crate::sync::lock;

/// The table and its index, each in its own database, because the index lags.
pub(crate) struct Embedded {
    databases: Arc<Databases>,
    known: Mutex<Known>,
}

/// The table content as last read. It is current because all writes go through the cloud.
#[derive(Default)]
struct Known {
    tasks: BTreeMap<TaskId, Record>,
    control: Control,
}

pub(crate) struct Databases {
    truth: Database,
    index: Database,
}

impl Embedded {
    pub(crate) fn start() -> Result<Self, NotStarted> {
        let started = || {
            let database = Database::memory().map_err(|error| NotStarted::new(&error))?;
            dispatch::create_task_table(&database, TABLE)?;
            Ok(database)
        };
        let databases = Databases {
            truth: started()?,
            index: started()?,
        };
        Ok(Self {
            databases: Arc::new(databases),
            known: Mutex::default(),
        })
    }

    fn client(&self, by: &Actor) -> Client {
        let connector = Connector {
            by: by.clone(),
            databases: self.databases.clone(),
        };
        client(connector, by.process.clock)
    }

    fn read(&self, id: &str) -> Option<Value> {
        let request = json!({"TableName": TABLE, "Key": {"taskId": {"S": id}}});
        let (_, body) = dispatch::call(&self.databases.truth, "GetItem", &request.to_string());
        let mut response: Value = serde_json::from_str(&body).ok()?;
        response.get_mut("Item").map(Value::take)
    }
}

/// Writes or deletes an item.
fn put(database: &Database, id: &TaskId, record: Option<&Record>) {
    let (operation, request) = match record {
        Some(record) => (
            "PutItem",
            json!({"TableName": TABLE, "Item": item::encode(id, record)}),
        ),
        None => (
            "DeleteItem",
            json!({"TableName": TABLE, "Key": {"taskId": {"S": id.as_str()}}}),
        ),
    };
    let (status, body) = dispatch::call(database, operation, &request.to_string());
    assert_eq!(status, 200, "{operation} of {id}: {body}");
}

#[async_trait]
impl Backend for Embedded {
    fn store(&self, by: &Actor) -> Arc<dyn QueueStore> {
        let store = DynamoStore::new(self.client(by), TABLE);
        let access = Access::Client(Arc::new(store));
        Arc::new(ProcessStore::new(by, access))
    }

    async fn put_batch(&self, by: &Actor, tasks: &[(TaskId, Record)]) -> bool {
        let request = tasks.iter();
        let request = request.map(|(id, record)| item::put_request(id, record));
        let mut left = Some(HashMap::from([(TABLE.to_owned(), request.collect())]));
        let client = self.client(by);
        for _ in 0..5 {
            let batch = client.batch_write_item().set_request_items(left.clone());
            if let Ok(response) = batch.send().await {
                left = response.unprocessed_items;
                if left.as_ref().is_none_or(HashMap::is_empty) {
                    return true;
                }
            }
        }
        false
    }

    fn task(&self, id: &TaskId) -> Option<Record> {
        lock(&self.known).tasks.get(id).cloned()
    }

    fn read_task(&self, id: &TaskId) -> Option<Record> {
        let record = self.read(id.as_str()).and_then(item::decode);
        let mut known = lock(&self.known);
        match &record {
            Some(record) => known.tasks.insert(id.clone(), record.clone()),
            None => known.tasks.remove(id),
        };
        record
    }

    fn tasks(&self) -> Vec<(TaskId, Record)> {
        let known = lock(&self.known);
        let task = |(id, record): (&TaskId, &Record)| (id.clone(), record.clone());
        known.tasks.iter().map(task).collect()
    }

    fn control(&self) -> Control {
        lock(&self.known).control.clone()
    }

    fn read_control(&self) -> Control {
        let item = self.read(CONTROL_ITEM);
        let control = item.map(item::control).unwrap_or_default();
        lock(&self.known).control = control.clone();
        control
    }

    fn groups(&self) -> GroupStates {
        let item = self.read(GROUPS_ITEM);
        item.map(item::groups).unwrap_or_default()
    }

    fn put(&self, id: &TaskId, record: Option<&Record>) {
        put(&self.databases.truth, id, record);
    }

    fn show(&self, id: &TaskId, record: Option<&Record>) {
        put(&self.databases.index, id, record);
    }
}

/// Creates a client configured like the functions' clients, except for its clock and its network.
fn client(connector: Connector, clock: SkewedClock) -> Client {
    let config = protocol::config()
        .http_client(connector.client())
        .time_source(Told(clock));
    Client::from_conf(config.build())
}

/// A process's clock, as an SDK time source.
#[derive(Debug)]
struct Told(SkewedClock);

impl TimeSource for Told {
    fn now(&self) -> SystemTime {
        let millis = u64::try_from(self.0.now().0).unwrap_or(0);
        UNIX_EPOCH + Duration::from_millis(millis)
    }
}
