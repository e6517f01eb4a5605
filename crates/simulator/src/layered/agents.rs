//! Layers on the agent store.

use std::any::Any;

use agent_queue::agent::Agent;
use agent_queue::call::{Call as Caller, CallRecord, OutboxEntry};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::{
    AgentPage, AgentStore, Committed, Line, LineDepth, Order, QueueCounters, StoreError,
};
use agent_queue::time::Micros;
use agent_queue::transaction::{CallLease, Change, Key, QueueEntry, Step, line_key, outbox_key};
use async_trait::async_trait;
use futures::future::BoxFuture;

use super::{Call, layered};

/// A call to the agent store.
pub type AgentCall<'a, T> = Call<About<'a>, dyn AgentStore, T>;

#[async_trait]
pub trait Layer: Send + Sync {
    /// Executes a call or returns an error instead.
    async fn around<T: Any + Send>(&self, call: AgentCall<'_, T>) -> Result<T, StoreError>;
}

#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    Commit(&'a Change),
    /// A read of the first entries of a queue, up to a limit.
    Peek(&'a QueueName, u16),
    /// A read of the pending calls with these criteria, up to a limit.
    CallsInLine(&'a Criteria, u16),
    Read,
    Line(&'a Criteria),
    /// A deletion of these outbox entries.
    Outbox(&'a [OutboxEntry]),
}

impl About<'_> {
    /// Returns the keys of the items that the call writes.
    pub fn written(self) -> Vec<Key> {
        match self {
            Self::Commit(change) => change.steps.iter().map(Step::key).collect(),
            Self::Line(criteria) => vec![line_key(criteria)],
            Self::Outbox(entries) => entries.iter().map(outbox_key).collect(),
            Self::Peek(..) | Self::CallsInLine(..) | Self::Read => vec![],
        }
    }
}

layered! { AgentStore by Layer:
    AgentStore {
        commit(&change: Change) -> Committed => About::Commit(change);
        agent(&agent: AgentId) -> Option<Agent> => About::Read;
        agents(?after: AgentId, limit: u16) -> AgentPage => About::Read;
        queues() -> Vec<QueueCounters> => About::Read;
        peek(&queue: QueueName, order: Order, limit: u16) -> Vec<QueueEntry> => About::Peek(queue, limit);
        call(&call: CallId) -> Option<CallRecord> => About::Read;
        lines() -> Vec<Line> => About::Read;
        open_line(&criteria: Criteria, at: Micros) -> () => About::Line(criteria);
        close_line(&line: Line) -> () => About::Line(&line.criteria);
        pending() -> Vec<LineDepth> => About::Read;
        calls_in_line(&criteria: Criteria, limit: u16) -> Vec<Caller> => About::CallsInLine(criteria, limit);
        leases(?after: CallLease, until: Micros, limit: u16) -> Vec<CallLease> => About::Read;
        lease(&lease: CallLease) -> Option<CallLease> => About::Read;
        outbox_entries(?after: OutboxEntry, until: Micros, limit: u16) -> Vec<OutboxEntry> => About::Read;
        delete_published(&outbox: [OutboxEntry]) -> () => About::Outbox(outbox);
    }
}
