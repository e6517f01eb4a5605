//! The state machine: the requests so far, which determine the requests that can be drawn next.

use agent_queue::agent::{AgentState, Ticket};
use agent_queue::call::{Assignment, Call, CallState, OutboxEvent};
use agent_queue::name::{AgentId, CallId};
use agent_queue::store::Order;
use agent_queue::time::Micros;
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use super::draw;
use super::operation::{Operation, Response, Wish};
use super::queue::Reference;
use super::rule::Rule;
use crate::NOW;

/// The reference and the state that its clients remember.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub reference: Reference,
    /// The latest request time.
    pub clock: Micros,
    /// Number of different calls so far, which is part of a new call's id.
    pub calls: usize,
    /// Every call sent to the queue, so that it can be sent again.
    pub brought: Vec<Call>,
    /// Every assignment, so that it can be finished, even late or repeatedly.
    pub stays: Vec<(AgentId, CallId, Ticket)>,
    /// The assignments of the last request, to publish next.
    pub made: Vec<Assignment>,
    /// The expected response to the last request, and the rule that determines the response.
    pub last: Option<(Response, Rule)>,
}

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Self> {
        prop_oneof![2 => Just(Order::Fifo), 1 => Just(Order::Lifo)]
            .prop_map(Self::start)
            .boxed()
    }

    fn transitions(machine: &Self) -> BoxedStrategy<Operation> {
        draw::operation(machine)
    }

    fn apply(mut machine: Self, operation: &Operation) -> Self {
        machine.perform(operation);
        machine
    }
}

impl Machine {
    /// Creates a machine whose queue is unused.
    pub fn start(order: Order) -> Self {
        Self {
            reference: Reference::new(order),
            clock: NOW,
            ..Self::default()
        }
    }

    /// Performs a request on the reference, and records what its client would remember.
    pub fn perform(&mut self, operation: &Operation) {
        let before = self.reference.outbox.len();
        let leaves_nothing_to_publish = matches!(
            operation.wish,
            Wish::Sweep(_) | Wish::Tell(..) | Wish::Cancel(_)
        );
        self.last = Some(self.reference.perform(operation));
        self.clock = self.clock.max(operation.now);
        if let Wish::Match(call) | Wish::DiePending(call) = &operation.wish {
            self.calls += usize::from(!self.brought.iter().any(|known| known.id == call.id));
            self.brought.push(call.clone());
        }
        self.made.clear();
        if !leaves_nothing_to_publish {
            self.made = self.reference.outbox[before..]
                .iter()
                .filter_map(|entry| match &entry.event {
                    OutboxEvent::Assigned(made) => Some(made.clone()),
                    OutboxEvent::Expired(_) => None,
                })
                .collect();
        }
        for record in self.reference.calls.values() {
            if let CallState::Assigned(made) = &record.state {
                let stay = (made.agent_id.clone(), made.call_id.clone(), made.ticket);
                if !self.stays.contains(&stay) {
                    self.stays.push(stay);
                }
            }
        }
    }

    pub fn any(&self, like: impl Fn(&AgentState) -> bool) -> bool {
        self.reference.agents.values().any(|is| like(&is.state))
    }
}
