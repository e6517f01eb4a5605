//! Transactions that meet, as on DynamoDB.
//!
//! The embedded DynamoDB carries out one request after the other, so that no two transactions
//! ever meet there. Here requests take the time they take over a network, a transaction holds
//! its items for as long as it lasts, and another request for one of them is rejected as DynamoDB
//! rejects it
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>):
//!
//! | a request | is rejected if for one of its items is in flight |
//! |---|---|
//! | `TransactWriteItems` | an earlier `TransactWriteItems` |
//! | `PutItem`, `UpdateItem`, `DeleteItem` | an earlier `TransactWriteItems` |
//! | `TransactGetItems` | an earlier or later `TransactWriteItems`, `PutItem`, `UpdateItem`, `DeleteItem`, `BatchWriteItem` |
//! | `GetItem`, `Query` and all others | nothing is in their way |
//!
//! A transactional read so never keeps a write away: it is the read that fails
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html>).
//! Of two transactions that meet the earlier one goes on. DynamoDB may reject both:
//! [`Conflicts::refusing_both`] does so for a share of them. Items are held from the request to
//! its answer; DynamoDB holds them a little shorter.
//!
//! Each call is counted, and so is what it consumes, as its answer says
//! (`ReturnConsumedCapacity`). What is rejected has no such answer: DynamoDB bills that too, but
//! it is not in these figures.

mod figures;
mod held;
mod request;
#[cfg(test)]
mod tests;
pub mod timed_store;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_smithy_http_client::Builder as Http;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value, json};

pub use self::figures::Figures;
use self::figures::consumed;
use self::held::{Access, Held};
use crate::agents::embedded::Embedded;
use crate::dynamodb;
use crate::protocol::{self, Answer};

/// How long requests take, beside what the embedded database needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// A request for items one by one: half of it before it is carried out, half of it after.
    pub plain: Duration,
    /// A transaction, likewise.
    pub transaction: Duration,
}

/// What the clients of one table share: items held, calls counted.
#[derive(Clone)]
pub struct Conflicts {
    shared: Arc<Shared>,
}

struct Shared {
    latency: Latency,
    /// How often, of a hundred conflicts, the earlier transaction is rejected too.
    both_refused: u8,
    chance: Mutex<fastrand::Rng>,
    held: Arc<Held>,
    figures: Mutex<Figures>,
}

impl fmt::Debug for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conflicts")
    }
}

impl Conflicts {
    /// Nothing held, nothing counted.
    #[must_use]
    pub fn new(latency: Latency) -> Self {
        Self::refusing_both(latency, 0, 0)
    }

    /// The same, but of a hundred conflicts this number reject the earlier transaction too, unless
    /// it was carried out already. Which ones follows from `seed`.
    #[must_use]
    pub fn refusing_both(latency: Latency, percent: u8, seed: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                latency,
                both_refused: percent,
                chance: Mutex::new(fastrand::Rng::with_seed(seed)),
                held: Arc::default(),
                figures: Mutex::default(),
            }),
        }
    }

    /// One more client of the embedded DynamoDB at this address. Its transactions meet those of
    /// all other clients made here. Its own retries are off.
    #[must_use]
    pub fn client(&self, address: SocketAddr) -> Client {
        let http = Http::new().build_http();
        let conflicts = self.clone();
        let through = http_client_fn(move |settings, components| {
            let connector = Connector {
                conflicts: conflicts.clone(),
                inner: http.http_connector(settings, components),
            };
            protocol::connector(move |request| connector.clone().answer(request))
        });
        let plain = dynamodb::client(address);
        Client::from_conf(plain.config().to_builder().http_client(through).build())
    }

    /// The same for an embedded DynamoDB in this process, so that tokio's clock may be paused.
    #[must_use]
    pub fn client_of(&self, embedded: &Embedded) -> Client {
        let connector = Connector {
            conflicts: self.clone(),
            inner: embedded.direct(),
        };
        let connector = protocol::connector(move |request| connector.clone().answer(request));
        let through = http_client_fn(move |_, _| connector.clone());
        let config = protocol::config().retry_config(RetryConfig::disabled());
        Client::from_conf(config.http_client(through).build())
    }

    /// Carries out `work` as a request of this kind on these items, in the time that it takes.
    ///
    /// # Errors
    /// It met a transaction: a mark at each item where it did.
    pub async fn carry_out<T>(
        &self,
        operation: &str,
        keys: Vec<String>,
        work: impl Future<Output = T>,
    ) -> Result<T, Vec<bool>> {
        let access = Access::of(operation);
        let latency = &self.shared.latency;
        let half = match access {
            Access::Transaction | Access::TransactionalRead => latency.transaction / 2,
            Access::Write | Access::Batch | Access::Read => latency.plain / 2,
        };
        self.figures().count(operation);
        let conflict = |overlaps| {
            self.figures().count_conflict(operation);
            Err(overlaps)
        };
        let both_refused = || {
            let chance = self.shared.chance.lock();
            let mut chance = chance.unwrap_or_else(PoisonError::into_inner);
            chance.u8(0..100) < self.shared.both_refused
        };
        let held = match self.shared.held.take(access, keys, both_refused) {
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
        let answer = work.await;
        pause(half).await;
        match held.disturbed() {
            Some(overlaps) => conflict(overlaps),
            None => Ok(answer),
        }
    }

    /// What was counted so far; the count begins again.
    #[must_use]
    pub fn take_figures(&self) -> Figures {
        std::mem::take(&mut *self.figures())
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        let figures = self.shared.figures.lock();
        figures.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The SDK's way to the database.
#[derive(Clone)]
struct Connector {
    conflicts: Conflicts,
    inner: SharedHttpConnector,
}

impl Connector {
    async fn answer(self, request: HttpRequest) -> Answer {
        let operation = protocol::operation(&request).to_owned();
        let body = request.body().bytes();
        let body = body.ok_or_else(|| ConnectorError::user("a request that streams".into()))?;
        let body = serde_json::from_slice(body).map_err(|e| ConnectorError::user(e.into()))?;
        let keys = request::keys(&operation, &body);
        let work = self.forward(&operation, request, body);
        match self.conflicts.carry_out(&operation, keys, work).await {
            Ok(answer) => answer,
            Err(overlaps) => refusal(Access::of(&operation), &overlaps),
        }
    }

    /// To the database and back, asking what it consumes.
    async fn forward(&self, operation: &str, mut request: HttpRequest, mut body: Value) -> Answer {
        if request::consumes(operation) {
            body["ReturnConsumedCapacity"] = json!("TOTAL");
            let body = body.to_string();
            let headers = request.headers_mut();
            headers.insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        let mut answer = self.inner.call(request).await?;
        let whole = ByteStream::new(answer.take_body()).collect().await;
        let whole = whole.map_err(|error| ConnectorError::io(error.into()))?;
        let whole = whole.into_bytes();
        if answer.status().is_success() {
            let units = consumed(&whole).map_err(|e| ConnectorError::other(e.into(), None))?;
            self.conflicts.figures().add_units(operation, units);
        } else {
            self.conflicts.figures().count_refused(operation);
        }
        *answer.body_mut() = SdkBody::from(whole);
        Ok(answer)
    }
}

async fn pause(duration: Duration) {
    // A pause of nothing would still give way to other tasks.
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

/// DynamoDB's answer to a request that met a transaction, at the marked ones of its items.
fn refusal(access: Access, overlaps: &[bool]) -> Answer {
    const ONGOING: &str = "Transaction is ongoing for the item";
    let body = if access == Access::Write {
        json!({ "__type": protocol::type_of("TransactionConflictException"), "message": ONGOING })
    } else {
        let reason = |overlaps: &bool| match overlaps {
            true => json!({ "Code": "TransactionConflict", "Message": ONGOING }),
            false => json!({ "Code": "None" }),
        };
        let reasons: Vec<_> = overlaps.iter().map(reason).collect();
        json!({
            "__type": protocol::type_of("TransactionCanceledException"),
            "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
            "CancellationReasons": reasons,
        })
    };
    protocol::respond(400, body.to_string())
}
