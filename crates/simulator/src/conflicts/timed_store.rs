//! The in-memory store, with latency and with the transaction conflicts of DynamoDB ([`super`]). It
//! has no other faults.

use std::sync::Arc;

use agent_queue::agent::Agent;
use agent_queue::call::{Call, CallRecord, OutboxEntry};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{
    AgentPage, AgentStore, Committed, Line, Order, QueueCounters, StoreError, WaitingCount,
};
use agent_queue::time::Micros;
use agent_queue::transaction::{CallLease, Change, Key, QueueEntry, Step, line_key, outbox_key};
use async_trait::async_trait;

use super::{Conflicts, Rejected};

/// A store of one process.
pub struct TimedStore {
    conflicts: Conflicts,
    truth: Arc<MemoryStore>,
}

impl TimedStore {
    /// The store `truth`, with the latency and the conflicts of `conflicts`.
    #[must_use]
    pub fn new(conflicts: Conflicts, truth: Arc<MemoryStore>) -> Self {
        Self { conflicts, truth }
    }

    async fn read<T>(
        &self,
        operation: &'static str,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.write(operation, vec![], answer).await
    }

    async fn write<T>(
        &self,
        operation: &'static str,
        keys: Vec<Key>,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let carried_out = self.conflicts.carry_out(operation, keys, answer).await;
        carried_out.unwrap_or_else(|_| Err(throttled(operation)))
    }
}

fn throttled(operation: &'static str) -> StoreError {
    StoreError::Throttled {
        operation,
        source: "a transaction is under way, or a partition is at its limit".into(),
    }
}

#[async_trait]
impl AgentStore for TimedStore {
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        let keys = change.steps.iter().map(Step::key).collect();
        let work = self.truth.commit(change);
        match self
            .conflicts
            .carry_out("TransactWriteItems", keys, work)
            .await
        {
            Ok(committed) => committed,
            Err(Rejected::Conflict(_)) => Ok(Committed::Conflict),
            Err(Rejected::Throttled(_)) => Err(throttled("TransactWriteItems")),
        }
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        self.read("GetItem", self.truth.agent(agent)).await
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError> {
        self.read("Query", self.truth.agents(after, limit)).await
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError> {
        self.read("Query", self.truth.queues()).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError> {
        self.read("Query", self.truth.peek(queue, order, limit))
            .await
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.read("GetItem", self.truth.call(call)).await
    }

    async fn lines(&self) -> Result<Vec<Line>, StoreError> {
        self.read("Query", self.truth.lines()).await
    }

    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<(), StoreError> {
        let answer = self.truth.open_line(criteria, at);
        let keys = vec![line_key(criteria)];
        self.write("UpdateItem", keys, answer).await
    }

    async fn close_line(&self, line: &Line) -> Result<(), StoreError> {
        let keys = vec![line_key(&line.criteria)];
        let answer = self.truth.close_line(line);
        self.write("DeleteItem", keys, answer).await
    }

    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError> {
        self.read("Query", self.truth.waiting()).await
    }

    async fn waiting_calls(
        &self,
        criteria: &Criteria,
        limit: u16,
    ) -> Result<Vec<Call>, StoreError> {
        let answer = self.truth.waiting_calls(criteria, limit);
        self.read("Query", answer).await
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError> {
        self.read("Query", self.truth.leases(after, until, limit))
            .await
    }

    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        self.read("Query", self.truth.outbox_entries(after, until, limit))
            .await
    }

    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<(), StoreError> {
        let keys = outbox.iter().map(outbox_key).collect();
        let answer = self.truth.delete_published(outbox);
        self.write("BatchWriteItem", keys, answer).await
    }
}
