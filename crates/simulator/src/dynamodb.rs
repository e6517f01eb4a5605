//! The embedded DynamoDB, and its table of agents, queues and calls.

use agent_queue::schema;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};

pub use embedded_dynamodb::{EmbeddedDynamo, NotStarted, TABLE, client, dispatch};

pub const AGENT_TABLE: &str = "agents";

/// Starts an embedded DynamoDB and creates the agents' table.
pub async fn start_for_agents() -> Result<EmbeddedDynamo, NotStarted> {
    let embedded = EmbeddedDynamo::start_empty().await?;
    let created = create_agent_table(&embedded.client, AGENT_TABLE).await;
    created.map_err(|e| NotStarted::new(&e))?;
    Ok(embedded)
}

/// Creates a table with the agents' keys.
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
