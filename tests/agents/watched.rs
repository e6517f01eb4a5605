//! A store that records reads and can inject changes.

use std::sync::Arc;

use agent_queue::agent::Agent;
use agent_queue::call::{Call, CallRecord, OutboxEntry};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::{
    AgentPage, AgentStore, Committed, Line, Order, QueueCounters, StoreError, WaitingCount,
};
use agent_queue::time::Micros;
use agent_queue::transaction::{CallLease, Change, QueueEntry};
use async_trait::async_trait;

/// A read of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The first entries of a queue, up to a limit.
    Peek(QueueName, u16),
    /// The pending calls of these criteria, up to a limit.
    WaitingCalls(Criteria, u16),
    /// Another read, by the method's name.
    Other(&'static str),
}

/// Observes a store.
#[async_trait]
pub trait Watch: Send + Sync {
    /// Called before a read.
    async fn before(&self, _read: &Read) {}

    /// Called after a read, before the answer is returned.
    async fn after(&self, _read: &Read) {}

    /// Called instead of a commit. Commits the change on the store, or not.
    async fn commit(
        &self,
        store: &dyn AgentStore,
        change: &Change,
    ) -> Result<Committed, StoreError> {
        store.commit(change).await
    }
}

/// A store with its watch.
pub struct Watched<W> {
    store: Arc<dyn AgentStore>,
    watch: Arc<W>,
}

impl<W: Watch> Watched<W> {
    /// Puts a watch on a store.
    #[must_use]
    pub fn new(store: Arc<dyn AgentStore>, watch: Arc<W>) -> Self {
        Self { store, watch }
    }

    async fn read<T>(&self, read: Read, answer: impl Future<Output = T>) -> T {
        self.watch.before(&read).await;
        let answer = answer.await;
        self.watch.after(&read).await;
        answer
    }
}

#[async_trait]
impl<W: Watch> AgentStore for Watched<W> {
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.watch.commit(&*self.store, change).await
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        let answer = self.store.agent(agent);
        self.read(Read::Other("agent"), answer).await
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError> {
        let answer = self.store.agents(after, limit);
        self.read(Read::Other("agents"), answer).await
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError> {
        self.read(Read::Other("queues"), self.store.queues()).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError> {
        let answer = self.store.peek(queue, order, limit);
        self.read(Read::Peek(queue.clone(), limit), answer).await
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.read(Read::Other("call"), self.store.call(call)).await
    }

    async fn lines(&self) -> Result<Vec<Line>, StoreError> {
        self.read(Read::Other("lines"), self.store.lines()).await
    }

    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<(), StoreError> {
        let answer = self.store.open_line(criteria, at);
        self.read(Read::Other("open_line"), answer).await
    }

    async fn close_line(&self, line: &Line) -> Result<(), StoreError> {
        let answer = self.store.close_line(line);
        self.read(Read::Other("close_line"), answer).await
    }

    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError> {
        self.read(Read::Other("waiting"), self.store.waiting())
            .await
    }

    async fn waiting_calls(
        &self,
        criteria: &Criteria,
        limit: u16,
    ) -> Result<Vec<Call>, StoreError> {
        let answer = self.store.waiting_calls(criteria, limit);
        let read = Read::WaitingCalls(criteria.clone(), limit);
        self.read(read, answer).await
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError> {
        let answer = self.store.leases(after, until, limit);
        self.read(Read::Other("leases"), answer).await
    }

    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        let answer = self.store.outbox_entries(after, until, limit);
        self.read(Read::Other("outbox"), answer).await
    }

    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<(), StoreError> {
        let answer = self.store.delete_published(outbox);
        self.read(Read::Other("published"), answer).await
    }

    async fn adopt(&self) -> Result<u32, StoreError> {
        self.read(Read::Other("adopt"), self.store.adopt()).await
    }
}
