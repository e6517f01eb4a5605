//! The DynamoDB of a test: embedded, or DynamoDB Local if [`DYNAMODB_LOCAL`] names its address.

use std::env;
use std::sync::{Arc, LazyLock, mpsc};

use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use dynoxide::Database;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

use crate::dynamodb::{NotStarted, dispatch};
use crate::protocol::{self, respond};

/// Environment variable with the host and port of DynamoDB Local. `make test-dynamodb-local` sets
/// it.
pub const DYNAMODB_LOCAL: &str = "FRESHQ_DYNAMODB_LOCAL";

/// A database without tables. Its calls block the thread, so a paused Tokio clock does not advance
/// during a call.
#[derive(Clone)]
pub enum Engine {
    Embedded(Database),
    Local(Arc<Local>),
}

/// A database on DynamoDB Local, which keeps a separate database for each access key.
pub struct Local {
    url: String,
    authorization: String,
    connector: SharedHttpConnector,
}

impl Engine {
    pub fn start() -> Result<Self, NotStarted> {
        match env::var(DYNAMODB_LOCAL) {
            Ok(address) => Ok(Self::Local(Arc::new(Local::at(&address)))),
            Err(_) => {
                let database = Database::memory().map_err(|error| NotStarted::new(&error))?;
                Ok(Self::Embedded(database))
            }
        }
    }

    /// Returns the number of random sequences to run: `embedded`, or a third on DynamoDB Local, whose
    /// calls take longer.
    #[must_use]
    pub fn sequences(&self, embedded: u32) -> u32 {
        match self {
            Self::Embedded(_) => embedded,
            Self::Local(_) => embedded / 3,
        }
    }

    /// Calls an operation, such as `PutItem`. Returns the response's status and body.
    pub fn call(&self, operation: &str, body: &str) -> (u16, String) {
        match self {
            Self::Embedded(database) => dispatch::call(database, operation, body),
            Self::Local(local) => local.call(operation, body),
        }
    }

    /// Creates a table by a `CreateTable` request.
    pub fn create_table(&self, request: Value) -> Result<(), NotStarted> {
        match self {
            Self::Embedded(database) => dispatch::create_table(database, request),
            Self::Local(local) => match local.call("CreateTable", &request.to_string()) {
                (200, _) => Ok(()),
                (_, body) => Err(NotStarted::new(&ConnectorError::other(body.into(), None))),
            },
        }
    }

    /// Creates a connector to this database. Each request first yields to other Tokio tasks, so
    /// concurrent requests alternate.
    pub fn connector(&self) -> SharedHttpConnector {
        let engine = self.clone();
        protocol::connector(move |request: HttpRequest| {
            let engine = engine.clone();
            async move {
                tokio::task::yield_now().await;
                let operation = protocol::operation(&request);
                let body = request.body().bytes().unwrap_or_default();
                let (status, body) = engine.call(operation, &String::from_utf8_lossy(body));
                respond(status, body)
            }
        })
    }

    /// Creates a client without latency or SDK retries.
    pub fn client(&self) -> Client {
        protocol::client(self.connector())
    }
}

/// The runtime of the calls to DynamoDB Local. The callers' own runtimes may have a paused clock.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.expect("a runtime")
});

impl Local {
    fn at(address: &str) -> Self {
        // DynamoDB Local reads the access key and does not check the signature.
        let key = Uuid::new_v4().simple();
        Self {
            url: format!("http://{address}/"),
            authorization: format!(
                "AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/dynamodb/aws4_request, \
                 SignedHeaders=host, Signature=none"
            ),
            connector: SharedHttpConnector::new(Connector::builder().build_http()),
        }
    }

    fn call(&self, operation: &str, body: &str) -> (u16, String) {
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method("POST").expect("a method");
        request
            .set_uri(self.url.as_str())
            .expect("an address of DynamoDB Local");
        let headers = request.headers_mut();
        headers.insert("authorization", self.authorization.clone());
        headers.insert("content-type", "application/x-amz-json-1.0");
        headers.insert("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        let connector = self.connector.clone();
        let (send, receive) = mpsc::channel();
        RUNTIME.spawn(async move {
            let response = connector
                .call(request)
                .await
                .expect("a response from DynamoDB Local");
            let status = response.status().as_u16();
            let body = ByteStream::new(response.into_body())
                .collect()
                .await
                .expect("a body");
            let body = String::from_utf8_lossy(&body.into_bytes()).into_owned();
            // The receiver waits for this response.
            let _ = send.send((status, body));
        });
        receive.recv().expect("a response from DynamoDB Local")
    }
}
