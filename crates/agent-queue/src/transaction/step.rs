//! The steps of a change, each for one item and with its own condition.

use crate::agent::{Agent, AgentChange, AgentState, Ticket};
use crate::call::{Call, CallRecord, OutboxEntry};
use crate::criteria::QueueName;
use crate::name::{AgentId, CallId};
use crate::time::Micros;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub queue: QueueName,
    /// Time of the enqueue, which determines the position in the queue.
    pub at: Micros,
    pub agent: AgentId,
    /// The agent's name, which does not change while the agent is queued.
    pub agent_name: String,
    /// The agent's ticket. The entry is valid while the agent is queued with this ticket.
    pub ticket: Ticket,
    /// All queues of the agent, including this one.
    pub queues: Vec<QueueName>,
}

impl QueueEntry {
    /// Returns the entries of a queued agent, one per queue. Any other agent has none.
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

    /// Returns this agent's entries, one in each of its queues.
    pub(super) fn everywhere(&self) -> Vec<Self> {
        let entry = |queue: &QueueName| Self {
            queue: queue.clone(),
            ..self.clone()
        };
        self.queues.iter().map(entry).collect()
    }
}

/// A call lease, which limits the time that an agent attends a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLease {
    /// Time at which the lease expires.
    pub until: Micros,
    pub agent: AgentId,
    pub ticket: Ticket,
    pub call: CallId,
    /// Whether the agent has answered or does not have to. If false, the call returns to its line
    /// when the lease expires.
    pub answered: bool,
    /// Time of the agent's enqueue, stored until the agent answers. The agent returns to this
    /// position if the assignment was not published. `None` if unknown or not needed.
    pub queued_at: Option<Micros>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Time at which the lease expires, or `None` if it never expires.
    pub until: Option<Micros>,
    pub answered: bool,
}

impl From<Option<Micros>> for Term {
    /// Creates a term that does not require an answer.
    fn from(until: Option<Micros>) -> Self {
        Self {
            until,
            answered: true,
        }
    }
}

impl CallLease {
    /// Returns the lease of the agent's call, if there is one, without the agent's old position.
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
            queued_at: None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The item does not exist, because the call is new.
    New,
    /// The call is pending, with the same number of unanswered assignments as the record.
    Pending,
    Assigned(Ticket),
}

/// A change to one item, with its condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Creates an agent, if no agent has this id.
    NewAgent(Agent),
    /// Changes an agent, if it meets the conditions of the change. If the change queues the agent,
    /// the store adds one to the join count of each of its queues.
    Agent(AgentChange),
    /// Creates the counters of a queue, if it has none.
    OpenQueue(QueueName),
    /// Writes a queue entry, if its key is free.
    Join(QueueEntry),
    /// Deletes a queue entry, without a condition.
    Leave(QueueEntry),
    /// Deletes a queue entry, if it has this ticket.
    Discard(QueueEntry),
    /// Writes a call and its state, if its item meets the condition.
    Call(Before, CallRecord),
    Wait(Call),
    /// Removes a call from its line, without a condition.
    Unwait(Call),
    Lease(CallLease),
    /// Deletes a call lease, without a condition.
    Unlease(CallLease),
    /// Writes an outbox entry, which is kept until it is published.
    OutboxEntry(OutboxEntry),
    /// Changes nothing, but requires that this outbox entry was published.
    Published(OutboxEntry),
}
