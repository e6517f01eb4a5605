//! Where agents, queues and calls live.
//!
//! One trait, two implementations, one conformance suite (`tests/agents`): [`dynamodb`] is the
//! real one, [`memory`] is for tests and simulations. Everything that changes anything is a
//! [`Change`]; every read is strongly consistent, for a match rests on what was written before
//! it looked. Losing a race is a value ([`Committed::Refused`], [`Committed::Conflict`]); a
//! [`StoreError`] means that the change may or may not have happened.

pub mod dynamodb;
pub mod memory;

use async_trait::async_trait;
pub use aws::store_error::{Source, StoreError};

use crate::agent::Agent;
use crate::call::{Call, CallRecord, OutboxEntry};
use crate::criteria::{Criteria, QueueName};
use crate::name::{AgentId, CallId};
use crate::time::Micros;
use crate::transaction::{CallLease, Change, QueueEntry};

/// Everything the queue needs of a store.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Carries out a change, all of it or nothing. The same change (by its token) a second time
    /// changes nothing and is answered [`Committed::Done`] again, for ten minutes.
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError>;

    /// An agent.
    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>, StoreError>;

    /// Agents by id, after a given one.
    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage, StoreError>;

    /// Every queue that was ever opened, by name, with its depth and version. It reads every
    /// entry of every queue.
    async fn queues(&self) -> Result<Vec<QueueCounters>, StoreError>;

    /// The names alone, which one read brings.
    async fn queue_names(&self) -> Result<Vec<QueueName>, StoreError> {
        let queues = self.queues().await?.into_iter();
        Ok(queues.map(|is| is.queue).collect())
    }

    /// The first entries of a queue: at most `limit` items are read, however many wait.
    async fn peek(
        &self,
        queue: &QueueName,
        order: Order,
        limit: u16,
    ) -> Result<Vec<QueueEntry>, StoreError>;

    /// A call and its outcome.
    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>, StoreError>;

    /// Every open line of waiting calls; some may be empty. One read for each megabyte.
    async fn lines(&self) -> Result<Vec<Line>, StoreError>;

    /// Opens a line, or notes that it was used at this moment. A call may join only an open line:
    /// an agent reads no other.
    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<(), StoreError>;

    /// Closes a line, unless it was used since it was read.
    async fn close_line(&self, line: &Line) -> Result<(), StoreError>;

    /// How many calls wait in each open line. It counts every waiting call.
    async fn waiting(&self) -> Result<Vec<WaitingCount>, StoreError>;

    /// The calls that waited longest for the same: at most `limit`.
    async fn waiting_calls(&self, criteria: &Criteria, limit: u16)
    -> Result<Vec<Call>, StoreError>;

    /// The leases that end first, behind `after`, and ended before `until`: at most `limit`.
    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>, StoreError>;

    /// The outbox: what was written before `until` and is not published yet, oldest first, behind
    /// `after`; at most `limit`.
    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>, StoreError>;

    /// Deletes published events. One may stay nevertheless, and be published again.
    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<(), StoreError>;

    /// Moves items that another release wrote elsewhere to where this release reads them. How
    /// many it moved; the next call goes on with the rest.
    async fn adopt(&self) -> Result<u32, StoreError> {
        Ok(0)
    }
}

/// Who comes first in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The agent queued longest.
    #[default]
    Fifo,
    /// Who came last.
    Lifo,
}

/// How a change ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// Every step happened.
    Done,
    /// No step happened, because the conditions of these were not met.
    Refused(Vec<Refusal>),
    /// No step happened, because another transaction was changing one of the items; the same
    /// change may succeed at once.
    Conflict,
}

/// A step whose condition was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its index among the change's steps.
    pub step: usize,
    /// The current state, where the step is about an agent or a call.
    pub there: Option<There>,
}

/// The current state that makes a step fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    /// This agent.
    Agent(Box<Agent>),
    /// This call.
    Call(Box<CallRecord>),
}

/// A page of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentPage {
    /// By id.
    pub agents: Vec<Agent>,
    /// The last one's id, if there may be more.
    pub next: Option<AgentId>,
}

/// A queue's figures, read one after the other: exact while the queue does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCounters {
    /// Which queue.
    pub queue: QueueName,
    /// How often it changed.
    pub version: u64,
    /// How many agents wait.
    pub depth: u64,
}

impl QueueCounters {
    /// Each join and each departure is one more version; agents who joined and have not departed
    /// are the depth.
    #[must_use]
    pub fn of(queue: QueueName, joins: u64, depth: u64) -> Self {
        let version = (2 * joins).saturating_sub(depth);
        Self {
            queue,
            version,
            depth,
        }
    }
}

/// A line of calls that wait for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// For what.
    pub criteria: Criteria,
    /// When it was last opened; `None`: by a release that did not note it.
    pub seen: Option<Micros>,
}

/// How many calls wait for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCount {
    /// For what.
    pub criteria: Criteria,
    /// How many.
    pub depth: u64,
}
