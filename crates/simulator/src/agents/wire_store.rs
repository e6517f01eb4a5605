//! The in-memory store behind the network.

use std::any::Any;
use std::sync::Arc;

use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{Committed, StoreError};
use async_trait::async_trait;
use futures::FutureExt;

use super::network::Network;
use crate::fault::Fault;
use crate::layered::agents::{About, AgentCall, Layer};
use crate::layered::{self, Layered};

/// A store that makes each call through an exchange over the network.
pub type WireStore = Layered<Wire>;

/// A layer that sends each call to the in-memory store over the network.
pub struct Wire {
    network: Arc<Network>,
    truth: Arc<MemoryStore>,
}

impl WireStore {
    pub fn new(network: Arc<Network>, truth: Arc<MemoryStore>) -> Self {
        Self(Wire { network, truth })
    }
}

#[async_trait]
impl Layer for Wire {
    async fn around<T: Any + Send>(&self, call: AgentCall<'_, T>) -> Result<T, StoreError> {
        let operation = call.operation;
        let items = match call.about {
            // In this simulation, a batch cannot conflict with a transaction.
            About::Outbox(_) => vec![],
            about => about.written(),
        };
        let what = match call.about {
            About::Commit(_) => {
                let items = items.iter().map(|(pk, sk)| format!("{pk}/{sk}"));
                items.collect::<Vec<_>>().join(" ")
            }
            _ => operation.to_owned(),
        };
        let response = call.on(self.truth.clone());
        let response = self
            .network
            .exchange(what, items, || response.now_or_never())
            .await;
        match response {
            Ok(Some(response)) => response,
            // Unreachable, because the in-memory store never waits.
            Ok(None) => Err(Fault::LostAck.error(operation)),
            Err(fault) => match layered::answer(Committed::Conflict) {
                Some(conflict) if fault == Fault::TransactionConflict => Ok(conflict),
                _ => Err(fault.error(operation)),
            },
        }
    }
}
