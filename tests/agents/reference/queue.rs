//! The reference: agents, their queues, pending calls, and the outbox.

mod agents;
mod calls;
mod lines;
mod sweep;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use agent_queue::agent::{Agent, Ticket};
use agent_queue::call::{Assignment, CallRecord, OutboxEntry};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::dimension::Dimensions;
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::Order;
use agent_queue::time::Micros;
use uuid::Uuid;

use super::operation::{Operation, Response, Wish};
use super::rule::Rule;
use crate::rows;

/// Time from a call's arrival to its expiry.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

pub const LEASE: Duration = Duration::from_secs(40);

/// Time within which an agent must answer, in sequences that require answers.
pub const ANSWER: Duration = Duration::from_secs(25);

/// Minimum age of an unpublished assignment before the sweep publishes it.
pub const GRACE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub version: u64,
    /// The queued agents with their enqueue times, longest queued first.
    pub agents: Vec<(Micros, AgentId)>,
}

#[derive(Clone, Debug, Default)]
pub struct Reference {
    pub order: Order,
    pub answers: bool,
    /// All agents. Their tickets are consecutive numbers.
    pub agents: BTreeMap<AgentId, Agent>,
    pub queues: BTreeMap<QueueName, Line>,
    pub calls: BTreeMap<CallId, CallRecord>,
    /// The pending calls per criteria, oldest first.
    pub pending: BTreeMap<Criteria, Vec<(Micros, CallId)>>,
    /// Queue position of each agent before its last assignment.
    pub places: BTreeMap<AgentId, Micros>,
    pub outbox: Vec<OutboxEntry>,
    tickets: u128,
}

/// The response to a request, and the rule that determines it.
type Ruled = (Response, Rule);

/// The result of serving pending calls.
#[derive(Debug, Default)]
struct Served {
    assignments: Vec<Assignment>,
    expired: u64,
}

impl Reference {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            answers: answers(order),
            ..Self::default()
        }
    }

    pub fn perform(&mut self, operation: &Operation) -> Ruled {
        let now = operation.now;
        match &operation.wish {
            Wish::Register(id, name, profile) => self.register(id, name, profile),
            Wish::Available(id) => self.available(id, now),
            Wish::Enqueue(id) => self.enqueue(id, now),
            Wish::EnqueueAll => self.enqueue_all(now),
            Wish::Leave(id, rest) => self.leave(id, *rest),
            Wish::Match(call) => self.match_call(call, now),
            Wish::Cancel(id) => self.cancel(id, now),
            Wish::Finish(id, call, ticket) => self.finish(id, call, *ticket, now),
            Wish::Extend(id, call, ticket) => self.extend(id, call, *ticket, now),
            Wish::Tell(assignments, heard) => self.publish(assignments, *heard),
            Wish::Sweep(heard) => self.sweep(*heard, now),
            Wish::DieEnqueuing(id) => self.die_enqueuing(id, now),
            Wish::DiePending(call) => self.die_pending(call),
            Wish::Call(id) => self.look_call(id),
            Wish::Queues => self.look_queues(),
            Wish::Agents(after, limit) => self.look_agents(after.as_ref(), *limit),
        }
    }

    fn fresh_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(Uuid::from_u128(self.tickets))
    }

    fn look_call(&self, id: &CallId) -> Ruled {
        match self.calls.get(id) {
            None => (Response::said("unknown"), Rule::LookUnknown),
            Some(record) => {
                let response = Response::said(record.state.as_str());
                (response.showing([rows::record(record)]), Rule::LookCall)
            }
        }
    }

    fn look_queues(&self) -> Ruled {
        let queues = self
            .queues
            .iter()
            .map(|(name, line)| table::named(name, rows::queue(&table::counters(name, line))));
        let pending = self
            .pending
            .iter()
            .map(|(criteria, line)| table::named(criteria, rows::pending(line.len() as u64)));
        let response = Response::said("done").showing(queues).showing(pending);
        (response, Rule::LookQueues)
    }

    fn look_agents(&self, after: Option<&AgentId>, limit: u16) -> Ruled {
        let later = |id: &AgentId| after.is_none_or(|after| id > after);
        let page = self.agents.iter().filter(|(id, _)| later(id));
        let page = page.take(limit.into());
        let response = Response::said("done").showing(page.map(|(_, agent)| rows::agent(agent)));
        (response, Rule::LookAgents)
    }
}

/// Whether agents must answer: true in all FIFO sequences, and false in all LIFO sequences.
pub fn answers(order: Order) -> bool {
    order == Order::Fifo
}

fn queues_of(agent: &Agent) -> Vec<QueueName> {
    Dimensions::default().queues(&agent.profile)
}
