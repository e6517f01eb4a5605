//! # An embedded DynamoDB with a queue's table
//!
//! For tests, benchmarks and `freshq dev`. No deployed code depends on it. [`EmbeddedDynamo`]
//! serves a database over HTTP, and [`dispatch`] calls one within the process.

pub mod dispatch;

use std::net::SocketAddr;
use std::thread;

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Region;
use aws_smithy_http_client::Builder as HttpClient;
use dynoxide::Database;
use tokio::net::TcpListener;

pub const TABLE: &str = "tasks";

/// An embedded DynamoDB on the loopback interface. It runs on its own thread and ends with the
/// process.
pub struct EmbeddedDynamo {
    /// An AWS SDK client that is connected to this database.
    pub client: Client,
    pub address: SocketAddr,
    pub database: Database,
}

#[derive(Debug, thiserror::Error)]
#[error("the embedded DynamoDB did not start: {0}")]
pub struct NotStarted(String);

impl NotStarted {
    pub fn new(error: &dyn std::error::Error) -> Self {
        Self(error.to_string())
    }
}

impl EmbeddedDynamo {
    /// Starts the database and creates the task table, without a stream.
    pub async fn start() -> Result<Self, NotStarted> {
        let embedded = Self::start_empty().await?;
        dispatch::create_task_table(&embedded.database, TABLE)?;
        Ok(embedded)
    }

    /// Starts the database without a table.
    pub async fn start_empty() -> Result<Self, NotStarted> {
        let failed = NotStarted::new;
        let listener = TcpListener::bind("127.0.0.1:0").await;
        // Pass a standard-library listener, because the server uses the runtime of its own thread.
        let listener = listener.and_then(TcpListener::into_std);
        let listener = listener.map_err(|e| failed(&e))?;
        let address = listener.local_addr().map_err(|e| failed(&e))?;
        let database = Database::memory().map_err(|e| failed(&e))?;
        let served = database.clone();
        let serve = move || -> std::io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                dynoxide::server::serve_on(listener, served).await;
                Ok(())
            })
        };
        let builder = thread::Builder::new().name("embedded-dynamodb".to_owned());
        builder.spawn(serve).map_err(|e| failed(&e))?;
        Ok(Self {
            client: client(address),
            address,
            database,
        })
    }
}

/// Creates a client for an embedded DynamoDB, without SDK retries so that tests see every failure.
pub fn client(address: SocketAddr) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws::client::behavior())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
        .http_client(HttpClient::new().build_http())
        .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled())
        .stalled_stream_protection(aws::client::stalled_streams())
        .build();
    Client::from_conf(config)
}
