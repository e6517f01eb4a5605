//! The embedded DynamoDB behind the network, through the real SDK client.

use std::sync::Arc;

use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::http_client_fn;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

use super::network::Network;
use crate::conflicts::{self, Access};
use crate::dynamodb::{AGENT_TABLE, NotStarted, TABLE, agent_table, dispatch};
use crate::engine::Engine;
use crate::protocol::{self, Response, respond};

/// A DynamoDB with the agents' table and the task table. Embedded in this process, except on
/// DynamoDB Local.
#[derive(Clone)]
pub struct Embedded {
    engine: Engine,
}

impl Embedded {
    /// Creates the database and the empty tables.
    pub fn start() -> Result<Self, NotStarted> {
        let engine = Engine::start()?;
        engine.create_table(agent_table())?;
        engine.create_table(dispatch::task_table(TABLE))?;
        Ok(Self { engine })
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Creates a client without latency or SDK retries.
    pub fn client(&self) -> Client {
        self.engine.client()
    }

    /// Creates a store over this network. Its client has the same retries as the functions' client.
    pub fn store(&self, network: &Arc<Network>) -> DynamoStore {
        let connector = Connector {
            network: network.clone(),
            engine: self.engine.clone(),
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
    engine: Engine,
}

impl Connector {
    async fn respond(self, request: HttpRequest) -> Response {
        let operation = protocol::supported_operation(&request)?;
        let body = request.body().bytes().unwrap_or_default();
        let body = String::from_utf8_lossy(body).into_owned();
        let items = match Access::of(operation) {
            Access::Transaction => conflicts::keys(operation, &body.parse().unwrap_or_default()),
            _ => vec![],
        };
        let count = items.len();
        let engine = self.engine;
        let apply = move || engine.call(operation, &body);
        match self
            .network
            .exchange(operation.to_owned(), items, apply)
            .await
        {
            Ok((status, body)) => respond(status, body),
            Err(fault) => fault.response(operation, count),
        }
    }
}
