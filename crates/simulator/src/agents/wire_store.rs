//! The in-memory store, behind the network.

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
use agent_queue::transaction::{CallLease, Change, Key, QueueEntry, Step, line_key};
use async_trait::async_trait;
use futures::FutureExt;

use super::network::{Fault, Network};

/// A store that makes each call through an exchange over the network.
pub struct WireStore {
    network: Arc<Network>,
    truth: Arc<MemoryStore>,
}

impl WireStore {
    /// The store `truth`, behind `network`.
    #[must_use]
    pub fn new(network: Arc<Network>, truth: Arc<MemoryStore>) -> Self {
        Self { network, truth }
    }

    async fn read<T, F>(&self, what: &str, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&MemoryStore) -> Option<Result<T, StoreError>> + Send + 'static,
    {
        self.exchange(what, vec![], read).await
    }

    async fn exchange<T, F>(&self, what: &str, items: Vec<Key>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&MemoryStore) -> Option<Result<T, StoreError>> + Send + 'static,
    {
        let truth = self.truth.clone();
        let answer = self
            .network
            .exchange(what.to_owned(), items, move || work(&truth))
            .await;
        match answer {
            Ok(Some(answer)) => answer,
            // The in-memory store never waits, so this does not happen.
            Ok(None) => Err(broken("read", Fault::LostAnswer)),
            Err(fault) => Err(broken("read", fault)),
        }
    }
}

fn broken(operation: &'static str, fault: Fault) -> StoreError {
    let source = format!("{fault:?}").into();
    match fault {
        Fault::Throttled | Fault::Conflict => StoreError::Throttled { operation, source },
        _ => StoreError::Unanswered { operation, source },
    }
}

#[async_trait]
impl AgentStore for WireStore {
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        let items: Vec<_> = change.steps.iter().map(Step::key).collect();
        let what = items.iter().map(|(pk, sk)| format!("{pk}/{sk}"));
        let what = what.collect::<Vec<_>>().join(" ");
        let (truth, change) = (self.truth.clone(), change.clone());
        let apply = move || truth.commit(&change).now_or_never();
        match self.network.exchange(what, items, apply).await {
            Ok(Some(committed)) => committed,
            Ok(None) => Err(broken("commit", Fault::LostAnswer)),
            Err(Fault::Conflict) => Ok(Committed::Conflict),
            Err(fault) => Err(broken("commit", fault)),
        }
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        let id = agent.clone();
        self.read("agent", move |truth| truth.agent(&id).now_or_never())
            .await
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError> {
        let after = after.cloned();
        self.read("agents", move |truth| {
            truth.agents(after.as_ref(), limit).now_or_never()
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError> {
        self.read("queues", |truth| truth.queues().now_or_never())
            .await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError> {
        let queue = queue.clone();
        self.read("peek", move |truth| {
            truth.peek(&queue, order, limit).now_or_never()
        })
        .await
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        let id = call.clone();
        self.read("call", move |truth| truth.call(&id).now_or_never())
            .await
    }

    async fn lines(&self) -> Result<Vec<Line>, StoreError> {
        self.read("lines", |truth| truth.lines().now_or_never())
            .await
    }

    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<(), StoreError> {
        let (items, criteria) = (vec![line_key(criteria)], criteria.clone());
        self.exchange("open line", items, move |truth| {
            truth.open_line(&criteria, at).now_or_never()
        })
        .await
    }

    async fn close_line(&self, line: &Line) -> Result<(), StoreError> {
        let (items, line) = (vec![line_key(&line.criteria)], line.clone());
        self.exchange("close line", items, move |truth| {
            truth.close_line(&line).now_or_never()
        })
        .await
    }

    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError> {
        self.read("waiting", |truth| truth.waiting().now_or_never())
            .await
    }

    async fn waiting_calls(
        &self,
        criteria: &Criteria,
        limit: u16,
    ) -> Result<Vec<Call>, StoreError> {
        let criteria = criteria.clone();
        self.read("waiting calls", move |truth| {
            truth.waiting_calls(&criteria, limit).now_or_never()
        })
        .await
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError> {
        let after = after.cloned();
        self.read("leases", move |truth| {
            truth.leases(after.as_ref(), until, limit).now_or_never()
        })
        .await
    }

    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        let after = after.cloned();
        self.read("outbox", move |truth| {
            truth
                .outbox_entries(after.as_ref(), until, limit)
                .now_or_never()
        })
        .await
    }

    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<(), StoreError> {
        let outbox = outbox.to_vec();
        self.read("published", move |truth| {
            truth.delete_published(&outbox).now_or_never()
        })
        .await
    }
}
