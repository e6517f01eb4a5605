//! Transaction conflicts, as on DynamoDB.
//!
//! The embedded DynamoDB executes one request after the other, so its transactions never conflict.
//! Here, [`Held`] is the rule for all simulated networks. With [`Conflicts`], requests have the
//! latency of a network, and a `TransactWriteItems` holds its items until it completes. A later `TransactWriteItems`, `PutItem`, `UpdateItem` or `DeleteItem` on one of
//! these items is rejected, as on DynamoDB
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>).
//! A `TransactGetItems` is rejected if a transaction holds one of its items, or if a write of one
//! begins during the read. Other requests are not rejected. If two write transactions conflict, the
//! earlier one continues. DynamoDB may reject both, which [`Model::both_rejected`] simulates for a
//! share of the conflicts. Items are held from the request to its response, slightly longer than on
//! DynamoDB.
//!
//! With [`Model::write_limit`], each partition also has a write limit.
//!
//! All requests are counted, along with the capacity units that the responses report
//! (`ReturnConsumedCapacity`). A rejected request reports no units, so these figures omit them
//! although DynamoDB bills them.

mod figures;
mod held;
mod partitions;
mod request;
#[cfg(test)]
mod tests;
pub mod timed_store;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agent_queue::transaction::Key;
use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value, json};

pub use self::figures::Figures;
use self::figures::consumed;
pub use self::held::{Access, Held, Holding};
use self::partitions::Partitions;
pub(crate) use self::request::keys;
use crate::engine::Engine;
use crate::protocol::{self, Response};
use crate::sync::{lock, pause};

/// Request latency, added to the execution time of the embedded database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Latency of a non-transactional request. Half passes before its execution, half after.
    pub plain: Duration,
    /// Latency of a transactional write or read, divided in the same way.
    pub transaction: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Model {
    pub latency: Latency,
    /// Percentage of conflicts in which the earlier transaction is also rejected, unless it was
    /// already executed.
    pub both_rejected: u8,
    /// Seed of the generator that selects these conflicts.
    pub seed: u64,
    /// Write limit per partition, in units per second. `None` disables it. Rejected requests also
    /// consume their units, unless they are throttled.
    pub write_limit: Option<f64>,
}

/// The state shared by all clients of one table: held items and figures.
#[derive(Clone)]
pub struct Conflicts {
    shared: Arc<Shared>,
}

struct Shared {
    model: Model,
    chance: Mutex<fastrand::Rng>,
    held: Arc<Held>,
    partitions: Option<Mutex<Partitions>>,
    figures: Mutex<Figures>,
}

/// Cause of a rejected request. Each variant has one flag per item, true if the item is the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    Conflict(Vec<bool>),
    /// A partition had reached its write limit.
    Throttled(Vec<bool>),
}

impl fmt::Debug for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conflicts")
    }
}

impl Conflicts {
    /// Creates a state without held items or figures. Requests have this latency and can conflict.
    pub fn new(latency: Latency) -> Self {
        Self::of(Model {
            latency,
            ..Model::default()
        })
    }

    /// Creates a state with this model, without held items or figures.
    pub fn of(model: Model) -> Self {
        Self {
            shared: Arc::new(Shared {
                model,
                chance: Mutex::new(fastrand::Rng::with_seed(model.seed)),
                held: Arc::default(),
                partitions: model.write_limit.map(Partitions::new).map(Mutex::new),
                figures: Mutex::default(),
            }),
        }
    }

    /// Creates a client of an embedded DynamoDB, without SDK retries. Its transactions can conflict
    /// with those of all other clients created here. Tokio's clock can be paused.
    pub fn client_of(&self, engine: &Engine) -> Client {
        let connector = Connector {
            conflicts: self.clone(),
            inner: engine.connector(),
        };
        protocol::client(protocol::connector(move |request| {
            connector.clone().respond(request)
        }))
    }

    /// Executes `work` as a request with this operation, these items and the configured latency.
    pub async fn carry_out<T>(
        &self,
        operation: &str,
        keys: Vec<Key>,
        work: impl Future<Output = T>,
    ) -> Result<T, Rejected> {
        let access = Access::of(operation);
        let latency = &self.shared.model.latency;
        let half = match access {
            Access::Transaction | Access::TransactionalRead => latency.transaction / 2,
            Access::Write | Access::Batch | Access::Read => latency.plain / 2,
        };
        self.figures().count(operation);
        let conflict = |overlaps| {
            self.figures().count_conflict(operation);
            Err(Rejected::Conflict(overlaps))
        };
        let partitions = self.shared.partitions.as_ref();
        let allowed = partitions.map_or(Ok(()), |all| lock(all).consume(access, &keys));
        if let Err(at_limit) = allowed {
            pause(half).await;
            return Err(Rejected::Throttled(at_limit));
        }
        let share = self.shared.model.both_rejected;
        let both_rejected = || lock(&self.shared.chance).u8(0..100) < share;
        let held = match self.shared.held.take(access, keys, both_rejected) {
            Ok(held) => held,
            Err(overlaps) => {
                pause(half).await;
                return conflict(overlaps);
            }
        };
        pause(half).await;
        if let Some(overlaps) = held.doomed() {
            return conflict(overlaps);
        }
        let done = work.await;
        pause(half).await;
        match held.disturbed() {
            Some(overlaps) => conflict(overlaps),
            None => Ok(done),
        }
    }

    pub fn take_figures(&self) -> Figures {
        std::mem::take(&mut *self.figures())
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        lock(&self.shared.figures)
    }
}

/// The connector between the SDK and the database.
#[derive(Clone)]
struct Connector {
    conflicts: Conflicts,
    inner: SharedHttpConnector,
}

impl Connector {
    async fn respond(self, request: HttpRequest) -> Response {
        let operation = protocol::operation(&request).to_owned();
        let body = request.body().bytes();
        let body = body.ok_or_else(|| {
            ConnectorError::user("streaming request bodies are not supported".into())
        })?;
        let body = serde_json::from_slice(body).map_err(|e| ConnectorError::user(e.into()))?;
        let keys = keys(&operation, &body);
        let work = self.forward(&operation, request, body);
        match self.conflicts.carry_out(&operation, keys, work).await {
            Ok(response) => response,
            Err(rejected) => rejected.response(Access::of(&operation)),
        }
    }

    /// Forwards the request to the database with `ReturnConsumedCapacity`, and counts the units.
    async fn forward(
        &self,
        operation: &str,
        mut request: HttpRequest,
        mut body: Value,
    ) -> Response {
        if request::consumes(operation) {
            body["ReturnConsumedCapacity"] = json!("TOTAL");
            let body = body.to_string();
            let headers = request.headers_mut();
            headers.insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        let mut response = self.inner.call(request).await?;
        let whole = ByteStream::new(response.take_body()).collect().await;
        let whole = whole.map_err(|error| ConnectorError::io(error.into()))?;
        let whole = whole.into_bytes();
        if response.status().is_success() {
            let units = consumed(&whole).map_err(|e| ConnectorError::other(e.into(), None))?;
            self.conflicts.figures().add_units(operation, units);
        }
        *response.body_mut() = SdkBody::from(whole);
        Ok(response)
    }
}

impl Rejected {
    pub(crate) fn response(&self, access: Access) -> Response {
        let (flags, code, exception, message) = match self {
            Self::Conflict(flags) => (
                flags,
                "TransactionConflict",
                "TransactionConflictException",
                "Transaction is ongoing for the item",
            ),
            Self::Throttled(flags) => (
                flags,
                "ThrottlingError",
                "ThrottlingException",
                "Throughput exceeds the current capacity of your table or index",
            ),
        };
        if matches!(access, Access::Write | Access::Batch) {
            return protocol::error(400, exception, message);
        }
        let reason = |flag: &bool| match flag {
            true => json!({ "Code": code, "Message": message }),
            false => json!({ "Code": "None" }),
        };
        let reasons: Vec<_> = flags.iter().map(reason).collect();
        let body = json!({
            "__type": protocol::type_of("TransactionCanceledException"),
            "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
            "CancellationReasons": reasons,
        });
        protocol::respond(400, body.to_string())
    }
}
