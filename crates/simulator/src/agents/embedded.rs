//! The embedded DynamoDB behind the network, through the real SDK client.

use std::sync::Arc;

use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use dynoxide::Database;
use serde_json::{Value, json};

use super::network::{Fault, Network};
use crate::dynamodb::{AGENT_TABLE, NotStarted, TABLE, dispatch};
use crate::protocol::{self, Response, respond};

/// An embedded DynamoDB with the agents' table and the task table, in this process.
#[derive(Clone)]
pub struct Embedded {
    database: Database,
}

impl Embedded {
    /// Creates the database and the empty tables.
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
        dispatch::create_task_table(&database, TABLE)?;
        Ok(Self { database })
    }

    /// Creates a connector that calls the database directly, without network or latency.
    pub(crate) fn direct(&self) -> SharedHttpConnector {
        let database = self.database.clone();
        protocol::connector(move |request: HttpRequest| {
            let database = database.clone();
            async move {
                let operation = protocol::supported_operation(&request)?;
                let body = request.body().bytes().unwrap_or_default();
                let body = String::from_utf8_lossy(body);
                let (status, body) = dispatch::call(&database, operation, &body);
                respond(status, body)
            }
        })
    }

    /// Creates a client without network, latency or SDK retries. Each request first yields to other
    /// Tokio tasks, so concurrent requests alternate.
    pub fn client(&self) -> Client {
        let direct = self.direct();
        protocol::client(protocol::connector(move |request| {
            let direct = direct.clone();
            async move {
                tokio::task::yield_now().await;
                direct.call(request).await
            }
        }))
    }

    /// Creates a store over this network. Its client has the same retries as the functions' client.
    pub fn store(&self, network: &Arc<Network>) -> DynamoStore {
        let connector = Connector {
            network: network.clone(),
            database: self.database.clone(),
        };
        let connector = protocol::connector(move |request| connector.clone().respond(request));
        let config = protocol::config().http_client(http_client_fn(move |_, _| connector.clone()));
        DynamoStore::new(
            Client::from_conf(config.build()),
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

impl Connector {
    async fn respond(self, request: HttpRequest) -> Response {
        let operation = protocol::supported_operation(&request)?;
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
                // Mark the first item, because the store does not read which item conflicted.
                let mut reasons = vec![json!({"Code": "None"}); count];
                if let Some(first) = reasons.first_mut() {
                    *first = json!({"Code": "TransactionConflict", "Message": "ongoing"});
                }
                let code = "TransactionCanceledException";
                respond(400, error(code, &json!(reasons)))
            }
            Err(_) => Err(ConnectorError::timeout("no response".into())),
        }
    }
}

/// Returns the items that a transaction changes or checks.
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
    let text = "fault injected by the simulated network";
    json!({"__type": protocol::type_of(code), "message": text, "CancellationReasons": reasons})
        .to_string()
}
