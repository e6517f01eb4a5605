//! The table of agents, queues and calls.

use agent_queue::schema;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};

/// The name of the embedded table of agents.
pub const AGENT_TABLE: &str = "agents";

/// Creates a table with the agents' keys.
///
/// # Errors
/// The request is invalid, or `CreateTable` fails.
pub async fn create_agent_table(
    client: &Client,
    table: &str,
) -> Result<(), SdkError<CreateTableError>> {
    let mut request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [(schema::PK, KeyType::Hash), (schema::SK, KeyType::Range)] {
        request = request
            .attribute_definitions(
                AttributeDefinition::builder()
                    .attribute_name(name)
                    .attribute_type(ScalarAttributeType::S)
                    .build()?,
            )
            .key_schema(
                KeySchemaElement::builder()
                    .attribute_name(name)
                    .key_type(kind)
                    .build()?,
            );
    }
    request.send().await.map(drop)
}
