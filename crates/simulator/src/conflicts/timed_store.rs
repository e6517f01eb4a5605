//! The in-memory store with DynamoDB's latency and transaction conflicts ([`super`]), and no other
//! faults.

use std::any::Any;
use std::sync::Arc;

use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{Committed, StoreError};
use async_trait::async_trait;

use super::{Conflicts, Rejected};
use crate::layered::agents::{AgentCall, Layer};
use crate::layered::{self, Layered};

pub type TimedStore = Layered<Timed>;

/// A layer that adds the latency and the conflicts to the in-memory store.
pub struct Timed {
    conflicts: Conflicts,
    truth: Arc<MemoryStore>,
}

impl TimedStore {
    pub fn new(conflicts: Conflicts, truth: Arc<MemoryStore>) -> Self {
        Self(Timed { conflicts, truth })
    }
}

#[async_trait]
impl Layer for Timed {
    async fn around<T: Any + Send>(&self, call: AgentCall<'_, T>) -> Result<T, StoreError> {
        let operation = match call.operation {
            "commit" => "TransactWriteItems",
            "agent" | "call" => "GetItem",
            "open_line" => "UpdateItem",
            "close_line" => "DeleteItem",
            "delete_published" => "BatchWriteItem",
            _ => "Query",
        };
        let keys = call.about.written();
        let work = call.on(self.truth.clone());
        let rejected = match self.conflicts.carry_out(operation, keys, work).await {
            Ok(result) => return result,
            Err(rejected) => rejected,
        };
        match layered::answer(Committed::Conflict) {
            Some(conflict) if matches!(rejected, Rejected::Conflict(_)) => Ok(conflict),
            _ => Err(StoreError::Throttled {
                operation,
                source: "a transaction is under way, or a partition is at its limit".into(),
            }),
        }
    }
}
