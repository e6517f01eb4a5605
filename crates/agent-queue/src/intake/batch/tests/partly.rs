//! A store that fails for chosen calls.

use async_trait::async_trait;

use super::NOW;
use crate::agent::Agent;
use crate::call::{Call, CallRecord, CallState, OutboxEntry};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::store::memory::MemoryStore;
use crate::store::{
    AgentPage, AgentStore, Committed, Line, Order, QueueCounters, Refusal, StoreError, There,
    WaitingCount,
};
use crate::time::Micros;
use crate::transaction::{CallLease, Change, QueueEntry, Step};

/// A store that rejects every change of a call whose id begins with `bad`, and never answers a
/// change of a call whose id begins with `slow`. The items of calls whose id begins with `torn`
/// cannot be read.
pub(super) struct Partly(pub(super) MemoryStore);

#[async_trait]
impl AgentStore for Partly {
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        let bad = |step: &Step| step.key().0.starts_with("Call#bad");
        if change.steps.iter().any(bad) {
            return Err(StoreError::Refused {
                operation: "commit",
                code: "bad".to_owned(),
                source: "bad".into(),
            });
        }
        let slow = |step: &Step| step.key().0.starts_with("Call#slow");
        if change.steps.iter().any(slow) {
            std::future::pending::<()>().await;
        }
        let torn = |(step, what): (usize, &Step)| match what {
            Step::Call(_, record) if record.call.id.as_str().starts_with("torn") => {
                let (call, state) = (record.call.clone(), CallState::Unreadable);
                let there = CallRecord::ended(call, state, NOW);
                let there = Some(There::Call(Box::new(there)));
                Some(Refusal { step, there })
            }
            _ => None,
        };
        if let Some(refusal) = change.steps.iter().enumerate().find_map(torn) {
            return Ok(Committed::Refused(vec![refusal]));
        }
        self.0.commit(change).await
    }
    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        self.0.agent(agent).await
    }
    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError> {
        self.0.agents(after, limit).await
    }
    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError> {
        self.0.queues().await
    }
    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError> {
        self.0.peek(queue, order, limit).await
    }
    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.0.call(call).await
    }
    async fn lines(&self) -> Result<Vec<Line>, StoreError> {
        self.0.lines().await
    }
    async fn open_line(&self, of: &Criteria, at: Micros) -> Result<(), StoreError> {
        self.0.open_line(of, at).await
    }
    async fn close_line(&self, line: &Line) -> Result<(), StoreError> {
        self.0.close_line(line).await
    }
    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError> {
        self.0.waiting().await
    }
    async fn waiting_calls(&self, of: &Criteria, limit: u16) -> Result<Vec<Call>, StoreError> {
        self.0.waiting_calls(of, limit).await
    }
    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError> {
        self.0.leases(after, until, limit).await
    }
    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        self.0.outbox_entries(after, until, limit).await
    }
    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<(), StoreError> {
        self.0.delete_published(outbox).await
    }
}
