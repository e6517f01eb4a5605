//! An in-memory store for tests, simulations and models. The conformance suite checks that it gives
//! the same guarantees as the DynamoDB store.

mod commit;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use uuid::Uuid;

use super::{AgentPage, AgentStore, Committed, Line, LineDepth, Order, QueueCounters, Result};
use crate::agent::Agent;
use crate::call::{Call, CallRecord, OutboxEntry};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::time::Micros;
use crate::transaction::{CallLease, Change, QueueEntry};

#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

/// The content of the table.
#[derive(Clone, Debug, Default)]
struct State {
    agents: BTreeMap<AgentId, Agent>,
    opened: BTreeSet<QueueName>,
    joins: BTreeMap<QueueName, u64>,
    entries: BTreeMap<(QueueName, Micros, AgentId), QueueEntry>,
    calls: BTreeMap<CallId, CallRecord>,
    pending: BTreeMap<(Criteria, String), Call>,
    lines: BTreeMap<Criteria, Micros>,
    leases: BTreeMap<(Micros, AgentId), CallLease>,
    outbox: BTreeMap<String, OutboxEntry>,
    committed: HashSet<Uuid>,
}

impl State {
    fn entries_of(&self, queue: &QueueName) -> impl DoubleEndedIterator<Item = &QueueEntry> {
        let first = (queue.clone(), Micros(0), AgentId::from_stored(""));
        let last = (queue.clone(), Micros(u64::MAX), AgentId::from_stored(""));
        self.entries.range(first..last).map(|(_, entry)| entry)
    }

    fn pending_for(&self, criteria: &Criteria) -> impl Iterator<Item = &Call> {
        let range = self.pending.range((criteria.clone(), String::new())..);
        range
            .take_while(move |((of, _), _)| of == criteria)
            .map(|(_, call)| call)
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so the state is consistent even if it is
        // poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl AgentStore for MemoryStore {
    async fn commit(&self, change: &Change) -> Result<Committed> {
        Ok(self.lock().commit(change))
    }

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>> {
        Ok(self.lock().agents.get(agent).cloned())
    }

    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage> {
        let state = self.lock();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let range = state.agents.range::<AgentId, _>((start, Bound::Unbounded));
        let agents: Vec<_> = range
            .take(limit.into())
            .map(|(_, agent)| agent.clone())
            .collect();
        let full = agents.len() == usize::from(limit);
        let next = agents.last().filter(|_| full).map(|last| last.id.clone());
        Ok(AgentPage { agents, next })
    }

    async fn queues(&self) -> Result<Vec<QueueCounters>> {
        let state = self.lock();
        let counters = state.opened.iter().map(|queue| {
            let joins = state.joins.get(queue).copied().unwrap_or(0);
            let depth = state.entries_of(queue).count() as u64;
            QueueCounters::of(queue.clone(), joins, depth)
        });
        Ok(counters.collect())
    }

    async fn peek(&self, queue: &QueueName, order: Order, limit: u16) -> Result<Vec<QueueEntry>> {
        let state = self.lock();
        let entries = state.entries_of(queue).cloned();
        let limit = usize::from(limit);
        Ok(match order {
            Order::Fifo => entries.take(limit).collect(),
            Order::Lifo => entries.rev().take(limit).collect(),
        })
    }

    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>> {
        Ok(self.lock().calls.get(call).cloned())
    }

    async fn lines(&self) -> Result<Vec<Line>> {
        let state = self.lock();
        let lines = state.lines.iter().map(|(criteria, seen)| Line {
            criteria: criteria.clone(),
            seen: *seen,
        });
        Ok(lines.collect())
    }

    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<()> {
        self.lock().lines.insert(criteria.clone(), at);
        Ok(())
    }

    async fn close_line(&self, line: &Line) -> Result<()> {
        let mut state = self.lock();
        if state.lines.get(&line.criteria).copied() == Some(line.seen) {
            state.lines.remove(&line.criteria);
        }
        Ok(())
    }

    async fn pending(&self) -> Result<Vec<LineDepth>> {
        let state = self.lock();
        let counts = state.lines.keys().map(|criteria| LineDepth {
            criteria: criteria.clone(),
            depth: state.pending_for(criteria).count() as u64,
        });
        Ok(counts.collect())
    }

    async fn calls_in_line(&self, criteria: &Criteria, limit: u16) -> Result<Vec<Call>> {
        let state = self.lock();
        let calls = state.pending_for(criteria).take(limit.into());
        Ok(calls.cloned().collect())
    }

    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>> {
        let state = self.lock();
        let range = state.leases.range(..(until, AgentId::from_stored("")));
        let after = after.map(|lease| (lease.until, lease.agent.clone()));
        Ok(range
            .skip_while(|(key, _)| after.as_ref().is_some_and(|after| *key <= after))
            .take(limit.into())
            .map(|(_, lease)| lease.clone())
            .collect())
    }

    async fn lease(&self, lease: &CallLease) -> Result<Option<CallLease>> {
        let key = (lease.until, lease.agent.clone());
        Ok(self.lock().leases.get(&key).cloned())
    }

    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>> {
        let state = self.lock();
        let range = state.outbox.range(..until.to_string());
        let after = after.map(OutboxEntry::sort_key);
        Ok(range
            .skip_while(|(key, _)| after.as_ref().is_some_and(|after| *key <= after))
            .take(limit.into())
            .map(|(_, entry)| entry.clone())
            .collect())
    }

    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<()> {
        let mut state = self.lock();
        for entry in outbox {
            state.outbox.remove(&entry.sort_key());
        }
        Ok(())
    }
}
