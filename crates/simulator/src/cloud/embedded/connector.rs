//! The SDK connector, which sends each request to the database over the simulated network.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{SharedHttpClient, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use lifo_queue::schema::{CONTROL_ITEM, TASK_ID};
use lifo_queue::task::TaskId;
use serde_json::{Value, json};

use super::Databases;
use crate::cloud::table::{self, Subject};
use crate::cloud::wire::{BATCHES, READS, WRITES, exchange};
use crate::cloud::world::{Actor, World};
use crate::dynamodb::{TABLE, dispatch};
use crate::fault::Fault;
use crate::protocol::{self, Response, respond};

#[derive(Clone)]
pub(super) struct Connector {
    pub(super) by: Actor,
    pub(super) databases: Arc<Databases>,
}

impl Connector {
    pub(super) fn client(self) -> SharedHttpClient {
        let connector = protocol::connector(move |request| self.clone().respond(request));
        http_client_fn(move |_, _| connector.clone())
    }

    async fn respond(self, request: HttpRequest) -> Response {
        let operation = protocol::supported_operation(&request)?;
        let body = request.body().bytes().unwrap_or_default();
        let body = String::from_utf8_lossy(body).into_owned();
        let Self { by, databases } = self;
        let world = &by.world;
        let kinds = [Fault::PartialBatch];
        let partial = || world.chance.befalls(&kinds, world.now());
        let (body, left) = match operation == "BatchWriteItem" && partial().is_some() {
            true => halve(&body),
            false => (body, Value::Null),
        };
        let subject = subject(operation, &body);
        let kinds = match operation {
            "BatchWriteItem" => BATCHES,
            _ if subject.is_written() => WRITES,
            _ => READS,
        };
        let process = by.process.clone();
        let apply = move |world: &World| {
            table::apply(world, &process, &subject, || {
                let database = match operation {
                    "Query" => &databases.index,
                    _ => &databases.truth,
                };
                dispatch::call(database, operation, &body)
            })
        };
        match exchange(&by, operation, kinds, apply).await {
            Ok((status, body)) if left.is_null() => respond(status, body),
            Ok((status, _)) => respond(status, json!({ "UnprocessedItems": left }).to_string()),
            Err(fault) => fault.response(operation, 0),
        }
    }
}

/// Splits a batch into a request with its first half, and the rest in the format of
/// `UnprocessedItems`.
fn halve(body: &str) -> (String, Value) {
    let mut request: Value = serde_json::from_str(body).unwrap_or_default();
    let Some(writes) = request["RequestItems"][TABLE].as_array_mut() else {
        return (body.to_owned(), Value::Null);
    };
    let left = writes.split_off(writes.len().div_ceil(2));
    (request.to_string(), json!({ TABLE: left }))
}

/// Returns the items that a request writes.
fn subject(operation: &str, body: &str) -> Subject {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(writes) = request["RequestItems"][TABLE].as_array() {
        let id = |write: &Value| {
            let id = write["PutRequest"]["Item"][TASK_ID]["S"].as_str();
            id.map(TaskId::from_stored)
        };
        return Subject {
            tasks: writes.iter().filter_map(id).collect(),
            control: false,
        };
    }
    let item = match operation {
        "PutItem" => &request["Item"],
        "UpdateItem" | "DeleteItem" => &request["Key"],
        _ => return Subject::nothing(),
    };
    match item[TASK_ID]["S"].as_str() {
        Some(CONTROL_ITEM) => Subject::control(),
        Some(id) => Subject::task(&TaskId::from_stored(id)),
        None => Subject::nothing(),
    }
}
