//! Maps DynamoDB's JSON protocol to the embedded database's functions.

use dynoxide::{Database, DynoxideError};
use lifo_queue::schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::NotStarted;

pub fn call(database: &Database, operation: &str, body: &str) -> (u16, String) {
    let done = match operation {
        "PutItem" => run(body, |request| database.put_item(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "Scan" => run(body, |request| database.scan(request)),
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| database.batch_write_item(request)),
        "DescribeTable" => run(body, |request| database.describe_table(request)),
        "ListTables" => run(body, |request| database.list_tables(request)),
        "TransactGetItems" => run(body, |request| database.transact_get_items(request)),
        "TransactWriteItems" => run(body, |request| database.transact_write_items(request)),
        other => Err(DynoxideError::ValidationException(format!(
            "{other} is not supported here"
        ))),
    };
    match done {
        Ok(body) => (200, body),
        Err(error) => (error.status_code(), error.to_json()),
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &str,
    call: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_str(body)
        .map_err(|error| DynoxideError::SerializationException(error.to_string()))?;
    let response = call(request)?;
    serde_json::to_string(&response)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// Creates a table with the queue's keys and index, without a stream.
pub fn create_task_table(database: &Database, table: &str) -> Result<(), NotStarted> {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let request = json!({
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            attribute(schema::TASK_ID, "S"),
            attribute(schema::TASK_STATUS, "S"),
            attribute(schema::TASK_CREATED, "N"),
        ],
        "KeySchema": [key(schema::TASK_ID, "HASH")],
        "GlobalSecondaryIndexes": [{
            "IndexName": schema::INDEX,
            "KeySchema": [key(schema::TASK_STATUS, "HASH"), key(schema::TASK_CREATED, "RANGE")],
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": schema::INDEX_PROJECTION,
            },
        }],
    });
    let request = serde_json::from_value(request).map_err(|error| NotStarted::new(&error))?;
    let created = database.create_table(request);
    created.map(drop).map_err(|error| NotStarted::new(&error))
}
