//! Maps DynamoDB's JSON protocol to the embedded database's functions.

use dynoxide::{Database, DynoxideError};
use lifo_queue::schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::NotStarted;

pub fn call(database: &Database, operation: &str, body: &str) -> (u16, String) {
    let done = match operation {
        "PutItem" => run(body, |request| database.put_item(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "Query" => is_projected(body).and_then(|()| run(body, |request| database.query(request))),
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

/// Rejects a query of the queue's index that names an attribute outside its projection, as DynamoDB
/// does. The embedded database itself omits such attributes without an error.
fn is_projected(body: &str) -> Result<(), DynoxideError> {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    if request["IndexName"] != schema::INDEX {
        return Ok(());
    }
    let projected = [schema::TASK_ID, schema::TASK_STATUS, schema::TASK_CREATED];
    let projected = [&projected[..], &schema::INDEX_PROJECTION].concat();
    let expressions = ["ProjectionExpression", "FilterExpression"];
    let expressions = expressions.map(|name| request[name].as_str().unwrap_or_default());
    for name in expressions.iter().flat_map(|text| names(text)) {
        let name = request["ExpressionAttributeNames"][name]
            .as_str()
            .unwrap_or(name);
        if !projected.contains(&name) {
            return Err(DynoxideError::ValidationException(format!(
                "One or more parameter values were invalid: Global secondary index {} does not project [{name}]",
                schema::INDEX
            )));
        }
    }
    Ok(())
}

/// Returns the attribute names and placeholders in an expression, without values, functions and
/// operators. A path counts as its first name.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || "_#:-.[]".contains(c)));
    let words = words.filter_map(|path| path.split(['.', '[']).next());
    words.filter(|word| {
        let named = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#');
        let function = expression.contains(&format!("{word}("));
        let operator = ["AND", "OR", "NOT", "IN", "BETWEEN"].contains(word);
        named && !function && !operator
    })
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
    create_table(database, task_table(table))
}

/// Creates a table by a `CreateTable` request.
pub fn create_table(database: &Database, request: Value) -> Result<(), NotStarted> {
    let request = serde_json::from_value(request).map_err(|error| NotStarted::new(&error))?;
    let created = database.create_table(request);
    created.map(drop).map_err(|error| NotStarted::new(&error))
}

/// Returns the `CreateTable` request of a table with the queue's keys and index, without a stream.
pub fn task_table(table: &str) -> Value {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    json!({
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
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::{call, create_task_table};
    use crate::TABLE;

    fn query(more: serde_json::Value) -> (u16, String) {
        let database = dynoxide::Database::memory().unwrap();
        create_task_table(&database, TABLE).unwrap();
        let mut request = json!({
            "TableName": TABLE,
            "IndexName": lifo_queue::schema::INDEX,
            "KeyConditionExpression": "taskStatus = :status",
            "ExpressionAttributeValues": {":status": {"S": "PENDING"}},
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        call(&database, "Query", &request.to_string())
    }

    #[test]
    fn index_query_that_names_an_unprojected_attribute_is_rejected() {
        for more in [
            json!({"ProjectionExpression": "taskId, payload"}),
            json!({"ProjectionExpression": "#p", "ExpressionAttributeNames": {"#p": "payload"}}),
            json!({"FilterExpression": "attribute_exists(payload.deep[0])"}),
        ] {
            let (status, body) = query(more);
            assert_eq!(status, 400);
            let text =
                "Global secondary index task-status-created-index does not project [payload]";
            assert!(body.contains(text), "{body}");
        }
    }

    #[test]
    fn index_query_that_names_keys_and_projected_attributes_is_accepted() {
        let (status, body) = query(json!({
            "ProjectionExpression": "taskId, taskStatus, taskCreated, leaseToken",
            "FilterExpression": "NOT attribute_exists(#ttl) AND attempts < :status",
            "ExpressionAttributeNames": {"#ttl": "ttl"},
        }));
        assert_eq!(status, 200, "{body}");
    }
}
