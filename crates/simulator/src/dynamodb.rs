//! The embedded DynamoDB, and the name of its agents' table.

pub use embedded_dynamodb::{EmbeddedDynamo, NotStarted, TABLE, client, dispatch};

use serde_json::{Value, json};

pub const AGENT_TABLE: &str = "agents";

/// Returns the `CreateTable` request of the agents' table.
pub fn agent_table() -> Value {
    json!({
        "TableName": AGENT_TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    })
}
