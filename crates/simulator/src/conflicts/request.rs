//! The items of a request in DynamoDB JSON.

use agent_queue::schema::{PK, SK};
use agent_queue::transaction::Key;
use serde_json::Value;

/// Returns the keys of the items in a write or a transaction, in order. A partition key contains
/// its table. Empty for other reads.
pub(crate) fn keys(operation: &str, body: &Value) -> Vec<Key> {
    match operation {
        "TransactWriteItems" => {
            let actions = body["TransactItems"].as_array().into_iter().flatten();
            let action = |action: &Value| action.as_object()?.values().find_map(key);
            // Use an empty key for an action without a key, so that the other keys keep their
            // index. The database rejects such an action.
            actions
                .map(|each| action(each).unwrap_or_default())
                .collect()
        }
        "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables
                .flat_map(|(table, writes)| {
                    let writes = writes.as_array().into_iter().flatten();
                    let puts_and_deletes =
                        writes.filter_map(|write| write.as_object()?.values().next());
                    puts_and_deletes.filter_map(|write| key_in(table, write))
                })
                .collect()
        }
        "PutItem" | "UpdateItem" | "DeleteItem" => key(body).into_iter().collect(),
        _ => vec![],
    }
}

/// Whether an operation reports its consumed capacity.
pub(super) fn consumes(operation: &str) -> bool {
    [
        "TransactWriteItems",
        "BatchWriteItem",
        "BatchGetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "GetItem",
        "Query",
        "Scan",
    ]
    .contains(&operation)
}

fn key(action: &Value) -> Option<Key> {
    key_in(action["TableName"].as_str()?, action)
}

fn key_in(table: &str, action: &Value) -> Option<Key> {
    let attributes = action.get("Key").or_else(|| action.get("Item"))?;
    let partition = format!("{table} {}", attributes.get(PK)?);
    Some((partition, attributes.get(SK)?.to_string()))
}
