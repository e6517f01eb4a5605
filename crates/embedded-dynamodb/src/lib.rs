//! # An embedded DynamoDB with a queue's table
//!
//! For tests, benchmarks and `freshq dev`; nothing that is deployed depends on it.
//! [`EmbeddedDynamo`] serves a database over HTTP, and [`dispatch`] calls one within the process.

pub mod dispatch;

use std::net::SocketAddr;
use std::thread;

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use aws_smithy_http_client::Builder as HttpClient;
use dynoxide::Database;
use lifo_queue::schema;

pub const TABLE: &str = "tasks";

/// An embedded DynamoDB on the loopback interface. It runs on its own thread and ends with the
/// process.
pub struct EmbeddedDynamo {
    /// A client of the real SDK, connected to this database.
    pub client: Client,
    pub address: SocketAddr,
}

#[derive(Debug)]
pub struct NotStarted(String);

impl NotStarted {
    pub fn new(error: &dyn std::error::Error) -> Self {
        Self(error.to_string())
    }
}

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the embedded DynamoDB did not start: {}", self.0)
    }
}

impl std::error::Error for NotStarted {}

impl EmbeddedDynamo {
    /// Starts it and creates the task table, without a stream.
    pub async fn start() -> Result<Self, NotStarted> {
        let embedded = Self::start_empty()?;
        let created = create_task_table(&embedded.client, TABLE).await;
        created.map_err(|e| NotStarted::new(&e))?;
        Ok(embedded)
    }

    /// Starts it without a table.
    pub fn start_empty() -> Result<Self, NotStarted> {
        let failed = NotStarted::new;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|e| failed(&e))?;
        let address = listener.local_addr().map_err(|e| failed(&e))?;
        let database = Database::memory().map_err(|e| failed(&e))?;
        let serve = move || -> std::io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                dynoxide::server::serve_on(listener, database).await;
                Ok(())
            })
        };
        let builder = thread::Builder::new().name("embedded-dynamodb".to_owned());
        builder.spawn(serve).map_err(|e| failed(&e))?;
        Ok(Self {
            client: client(address),
            address,
        })
    }
}

/// A client of an embedded DynamoDB. It has no SDK retries, so that tests see every failure.
pub fn client(address: SocketAddr) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
        .http_client(HttpClient::new().build_http())
        .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

/// Creates a table with the queue's keys and index.
pub async fn create_task_table(
    client: &Client,
    table: &str,
) -> Result<(), SdkError<CreateTableError>> {
    let attribute = |name: &str, kind: ScalarAttributeType| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(kind)
            .build()
    };
    let key = |name: &str, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name(schema::INDEX)
        .key_schema(key(schema::TASK_STATUS, KeyType::Hash)?)
        .key_schema(key(schema::TASK_CREATED, KeyType::Range)?)
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(schema::INDEX_PROJECTION.map(str::to_owned).to_vec()))
                .build(),
        )
        .build()?;
    client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(schema::TASK_ID, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(schema::TASK_STATUS, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(schema::TASK_CREATED, ScalarAttributeType::N)?)
        .key_schema(key(schema::TASK_ID, KeyType::Hash)?)
        .global_secondary_indexes(index)
        .send()
        .await
        .map(drop)
}
