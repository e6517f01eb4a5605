//! The embedded DynamoDB behind the network, through the real SDK's client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use dynoxide::Database;
use serde_json::{Value, json};

use super::network::{Fault, Network};
use crate::cloud::dispatch;
use crate::dynamodb::{AGENT_TABLE, NotStarted};

/// An embedded DynamoDB with the agents' table, in this process.
#[derive(Clone)]
pub struct Embedded {
    database: Database,
}

impl Embedded {
    /// An empty table.
    ///
    /// # Errors
    /// [`NotStarted`]: the table was refused.
    pub fn start() -> Result<Self, NotStarted> {
        let database = Database::memory().map_err(|error| NotStarted::new(&error))?;
        let request = json!({
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
        });
        let request = serde_json::from_value(request).map_err(|error| NotStarted::new(&error))?;
        let created = database.create_table(request);
        created.map_err(|error| NotStarted::new(&error))?;
        Ok(Self { database })
    }

    /// A store whose client retries as the functions' does, over this network.
    #[must_use]
    pub fn store(&self, network: &Arc<Network>) -> DynamoStore {
        let connector = Connector {
            network: network.clone(),
            database: self.database.clone(),
        };
        let connector = SharedHttpConnector::new(connector);
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(Duration::from_secs(3))
            .operation_timeout(Duration::from_secs(8))
            .build();
        let retries = RetryConfig::standard()
            .with_max_attempts(4)
            .with_initial_backoff(Duration::from_millis(50))
            .with_max_backoff(Duration::from_secs(1));
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .endpoint_url("http://dynamodb.internal")
            .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .timeout_config(timeouts)
            .retry_config(retries)
            .sleep_impl(TokioSleep::new())
            .build();
        DynamoStore::new(
            Client::from_conf(config),
            AGENT_TABLE,
            Dimensions::default(),
        )
    }
}

#[derive(Clone)]
struct Connector {
    network: Arc<Network>,
    database: Database,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().answer(request))
    }
}

impl Connector {
    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = dispatch::operation(target)
            .ok_or_else(|| ConnectorError::user(format!("{target} is not dispatched").into()))?;
        let body = request.body().bytes().unwrap_or_default();
        let body = String::from_utf8_lossy(body).into_owned();
        let items = changed(operation, &body);
        let count = items.len();
        let database = self.database;
        let apply = move || dispatch::call(&database, operation, &body);
        match self
            .network
            .exchange(operation.to_owned(), items, apply)
            .await
        {
            Ok((status, body)) => respond(status, body),
            Err(Fault::Throttled) => respond(400, error("ThrottlingException", &Value::Null)),
            Err(Fault::Unavailable) => respond(500, error("InternalServerError", &Value::Null)),
            Err(Fault::Conflict) => {
                // Which of the items it was is of no interest to the store.
                let mut reasons = vec![json!({"Code": "None"}); count];
                if let Some(first) = reasons.first_mut() {
                    *first = json!({"Code": "TransactionConflict", "Message": "ongoing"});
                }
                let code = "TransactionCanceledException";
                respond(400, error(code, &json!(reasons)))
            }
            Err(_) => Err(ConnectorError::timeout("no answer".into())),
        }
    }
}

/// The items that a transaction changes or checks.
fn changed(operation: &str, body: &str) -> Vec<(String, String)> {
    if operation != "TransactWriteItems" {
        return vec![];
    }
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let operations = request["TransactItems"].as_array();
    let key = |operation: &Value| {
        let (_, operation) = operation.as_object()?.iter().next()?;
        let key = operation.get("Key").or_else(|| operation.get("Item"))?;
        let part = |name: &str| key[name]["S"].as_str().map(str::to_owned);
        Some((part("pk")?, part("sk")?))
    };
    operations.into_iter().flatten().filter_map(key).collect()
}

fn error(code: &str, reasons: &Value) -> String {
    let code = format!("com.amazonaws.dynamodb.v20120810#{code}");
    let text = "by the network's chance";
    json!({"__type": code, "message": text, "CancellationReasons": reasons}).to_string()
}

fn respond(status: u16, body: String) -> Result<HttpResponse, ConnectorError> {
    let status = status
        .try_into()
        .map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}
