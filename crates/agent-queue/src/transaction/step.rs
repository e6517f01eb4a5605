//! The parts of a change, each on one item with its condition.

use crate::agent::{Agent, AgentChange, AgentState, Ticket};
use crate::call::{Call, CallRecord, OutboxEntry};
use crate::criteria::QueueName;
use crate::name::{AgentId, CallId};
use crate::time::Micros;

/// An agent's entry in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Which queue.
    pub queue: QueueName,
    /// The place: since when the agent waits.
    pub at: Micros,
    /// The agent.
    pub agent: AgentId,
    /// The agent's name, which does not change while queued.
    pub agent_name: String,
    /// The stay: without it the entry says nothing.
    pub ticket: Ticket,
    /// All queues the agent waits in, this one included.
    pub queues: Vec<QueueName>,
}

impl QueueEntry {
    /// The entries of a queued agent, one a queue; of any other agent none.
    #[must_use]
    pub fn all_of(agent: &Agent) -> Vec<Self> {
        let AgentState::Queued { at, queues, .. } = &agent.state else {
            return vec![];
        };
        let entry = |queue: &QueueName| Self {
            queue: queue.clone(),
            at: *at,
            agent: agent.id.clone(),
            agent_name: agent.name.clone(),
            ticket: agent.ticket,
            queues: queues.clone(),
        };
        queues.iter().map(entry).collect()
    }

    /// The same agent's entry in each of the agent's queues.
    pub(super) fn everywhere(&self) -> Vec<Self> {
        let entry = |queue: &QueueName| Self {
            queue: queue.clone(),
            ..self.clone()
        };
        self.queues.iter().map(entry).collect()
    }
}

/// A lease on an agent in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLease {
    /// When the agent is taken back.
    pub until: Micros,
    /// The agent.
    pub agent: AgentId,
    /// The stay that the call ended.
    pub ticket: Ticket,
    /// The call.
    pub call: CallId,
    /// Whether the agent has answered. If not, the call returns to its line.
    pub answered: bool,
}

/// When the lease of an assignment expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// `None`: never.
    pub until: Option<Micros>,
    /// Whether the agent need not answer.
    pub answered: bool,
}

impl From<Option<Micros>> for Term {
    /// A lease that needs no answer.
    fn from(until: Option<Micros>) -> Self {
        Self {
            until,
            answered: true,
        }
    }
}

impl CallLease {
    /// The lease of an agent in a call, if the call has one.
    #[must_use]
    pub fn of(agent: &Agent) -> Option<Self> {
        let AgentState::AttendingCall {
            call,
            until,
            answered,
        } = &agent.state
        else {
            return None;
        };
        Some(Self {
            until: (*until)?,
            agent: agent.id.clone(),
            ticket: agent.ticket,
            call: call.clone(),
            answered: *answered,
        })
    }
}

/// What a call's item must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Not there: a new call.
    New,
    /// There, waiting, and as often unanswered as the record says.
    Waiting,
    /// There, and assigned by this ticket.
    Assigned(Ticket),
}

/// One item's part of a change, and its condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Puts an agent, if there is none of this id.
    NewAgent(Agent),
    /// Moves an agent along an arrow, if it meets the arrow's conditions.
    Agent(AgentChange),
    /// Makes sure that a queue has counters.
    OpenQueue(QueueName),
    /// Puts an entry, if there is none in its place.
    Join(QueueEntry),
    /// Deletes an entry, whether it is there or not.
    Leave(QueueEntry),
    /// Deletes an entry, if it has this ticket.
    Discard(QueueEntry),
    /// Counts one more join of each queue, on one of the stripes.
    CountJoins(u8, Vec<QueueName>),
    /// Writes a call and its state.
    Call(Before, CallRecord),
    /// Puts a call among those waiting.
    Wait(Call),
    /// Deletes it there, whether it is there or not.
    Unwait(Call),
    /// Puts a lease.
    Lease(CallLease),
    /// Deletes it, be it there or not.
    Unlease(CallLease),
    /// Keeps an outbox entry until it is published.
    OutboxEntry(OutboxEntry),
}
