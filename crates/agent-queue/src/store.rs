//! The storage of agents, queues and calls.
//!
//! One trait has two implementations: [`dynamodb`] for production, [`memory`] for tests and
//! simulations. One conformance suite (`tests/agents`) checks both. Agents, queues and calls change
//! only through a [`Change`]. Every read is strongly consistent, because a match depends on
//! everything that was written before its read. A lost race is a result ([`Committed::Rejected`],
//! [`Committed::Conflict`]). After a [`StoreError`], the change may or may not have taken effect.

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

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Commits a change: all of its steps or none. For ten minutes, repeating the same change
    /// (identified by its token) has no effect and returns [`Committed::Done`] again.
    async fn commit(&self, change: &Change) -> Result<Committed>;

    async fn agent(&self, agent: &AgentId) -> Result<Option<Agent>>;

    /// Returns up to `limit` agents with ids after `after`, ordered by id.
    async fn agents(&self, after: Option<&AgentId>, limit: u16) -> Result<AgentPage>;

    async fn all_agents(&self) -> Result<Vec<Agent>> {
        const PAGE: u16 = 200;
        let mut agents = vec![];
        let mut after = None;
        loop {
            let page = self.agents(after.as_ref(), PAGE).await?;
            agents.extend(page.agents);
            after = page.next;
            if after.is_none() {
                return Ok(agents);
            }
        }
    }

    /// Returns every queue that was ever opened, by name, with its depth and version. Reads every
    /// entry of every queue.
    async fn queues(&self) -> Result<Vec<QueueCounters>>;

    /// Returns the names of all queues. The DynamoDB store does not read the queues' entries.
    async fn queue_names(&self) -> Result<Vec<QueueName>> {
        let queues = self.queues().await?.into_iter();
        Ok(queues.map(|is| is.queue).collect())
    }

    /// Returns the queue's first entries. Reads up to `limit` items, whatever the queue's depth.
    async fn peek(&self, queue: &QueueName, order: Order, limit: u16) -> Result<Vec<QueueEntry>>;

    /// Returns a call and its state, or `None` if no call has this id.
    async fn call(&self, call: &CallId) -> Result<Option<CallRecord>>;

    /// Returns all open lines of pending calls, even empty ones. Takes one read per megabyte.
    async fn lines(&self) -> Result<Vec<Line>>;

    /// Opens a line, or sets the time of its last use to `at`. A call can join only an open line,
    /// because the processes that enqueue agents read no other lines.
    async fn open_line(&self, criteria: &Criteria, at: Micros) -> Result<()>;

    /// Closes a line, unless it has been used since `line` was read.
    async fn close_line(&self, line: &Line) -> Result<()>;

    /// Returns the number of pending calls in each open line. Counts every pending call.
    async fn pending(&self) -> Result<Vec<LineDepth>>;

    /// Returns the oldest pending calls of one criteria, up to `limit`.
    async fn calls_in_line(&self, criteria: &Criteria, limit: u16) -> Result<Vec<Call>>;

    /// Returns up to `limit` call leases after `after` that expire before `until`, earliest first.
    async fn leases(
        &self,
        after: Option<&CallLease>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<CallLease>>;

    /// Returns the stored call lease with the agent and the expiry of this one.
    async fn lease(&self, lease: &CallLease) -> Result<Option<CallLease>>;

    /// Returns the outbox entries after `after` that were written before `until`, oldest first, up
    /// to `limit`.
    async fn outbox_entries(
        &self,
        after: Option<&OutboxEntry>,
        until: Micros,
        limit: u16,
    ) -> Result<Vec<OutboxEntry>>;

    /// Deletes published entries. An entry that is not deleted is published again.
    async fn delete_published(&self, outbox: &[OutboxEntry]) -> Result<()>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Fifo,
    Lifo,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Done,
    /// No step took effect, because the conditions of these steps were not met.
    Rejected(Vec<Rejection>),
    /// No step took effect, because another transaction was changing one of the items. An immediate
    /// retry of the same change may succeed.
    Conflict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Index of the step in the change.
    pub step: usize,
    /// Stored agent or call, if the step concerns one.
    pub there: Option<There>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    Agent(Box<Agent>),
    Call(Box<CallRecord>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentPage {
    /// The agents, ordered by id.
    pub agents: Vec<Agent>,
    /// Id of the last agent, if more agents may follow.
    pub next: Option<AgentId>,
}

/// Depth and version of a queue, from separate reads. Exact only while the queue does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCounters {
    pub queue: QueueName,
    /// Number of joins and departures so far.
    pub version: u64,
    pub depth: u64,
}

impl QueueCounters {
    /// Computes the counters from the number of joins and the depth. Each join and each departure
    /// adds one to the version. The depth is the number of joins minus the number of departures.
    pub fn of(queue: QueueName, joins: u64, depth: u64) -> Self {
        let version = (2 * joins).saturating_sub(depth);
        Self {
            queue,
            version,
            depth,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub criteria: Criteria,
    /// Time at which a process last opened the line.
    pub seen: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDepth {
    pub criteria: Criteria,
    pub depth: u64,
}
