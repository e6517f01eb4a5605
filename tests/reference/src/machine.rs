//! The state machine: the operations so far, which determine the operations that can be drawn next.

use lifo_queue::store::{TakeOutcome, TakeRequest};
use lifo_queue::task::{Lease, NewTask};
use lifo_queue::time::Millis;
use proptest::strategy::{BoxedStrategy, Just, Strategy};
use proptest_state_machine::ReferenceStateMachine;

use crate::answer::Answer;
use crate::draw;
use crate::operation::{Operation, Rule};
use crate::queue::ReferenceQueue;

pub const START: Millis = Millis(1_800_000_000_000);

/// The reference queue, and the data that its callers remember.
#[derive(Clone, Debug)]
pub struct Machine {
    pub queue: ReferenceQueue,
    /// The latest operation time.
    pub clock: Millis,
    /// Number of operations so far. New ids and tokens are derived from it.
    pub steps: u128,
    /// Every put by freshq's own writers, so that it can be repeated.
    pub inserts: Vec<NewTask>,
    pub takes: Vec<TakeRequest>,
    pub settlements: Vec<Operation>,
    /// All returns, so that they can be repeated.
    pub returns: Vec<Operation>,
    pub leases: Vec<Lease>,
    /// The expected answer to the last operation, and its rule.
    pub last: Option<(Answer, Rule)>,
}

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::start()).boxed()
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
    /// Creates an empty, unused queue.
    pub fn start() -> Self {
        Self {
            queue: ReferenceQueue::default(),
            clock: START,
            steps: 0,
            inserts: Vec::new(),
            takes: Vec::new(),
            settlements: Vec::new(),
            returns: Vec::new(),
            leases: Vec::new(),
            last: None,
        }
    }

    /// Performs an operation on the reference, and records what its caller would remember.
    pub fn perform(&mut self, operation: &Operation) {
        let (answer, rule) = self.queue.perform(operation);
        self.steps += 1;
        self.clock = operation
            .now()
            .map_or(self.clock, |now| now.max(self.clock));
        match (operation, &answer) {
            (Operation::Insert(task), _) => self.inserts.push(task.clone()),
            (Operation::Take(request), Answer::Taken(TakeOutcome::Won(taken))) => {
                self.takes.push(request.clone());
                self.leases.push(taken.lease.clone());
            }
            (Operation::Take(request), _) => self.takes.push(request.clone()),
            (Operation::Settle { .. }, _) => self.settlements.push(operation.clone()),
            (Operation::Return { .. }, _) => self.returns.push(operation.clone()),
            _ => {}
        }
        self.last = Some((answer, rule));
    }
}
