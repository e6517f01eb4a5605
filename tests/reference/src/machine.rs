//! The state machine: what was done so far, and so what may be drawn next.

use lifo_queue::store::{TakeOutcome, TakeRequest};
use lifo_queue::task::{Lease, NewTask};
use lifo_queue::time::Millis;
use proptest::strategy::{BoxedStrategy, Just, Strategy};
use proptest_state_machine::ReferenceStateMachine;

use crate::draw;
use crate::operation::{Answer, Operation};
use crate::queue::ReferenceQueue;
use crate::rule::Rule;

/// When every sequence begins.
pub const START: Millis = Millis(1_800_000_000_000);

/// The reference queue, and what its users remember.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The queue.
    pub queue: ReferenceQueue,
    /// The latest moment anyone told.
    pub clock: Millis,
    /// How many operations there were: what is fresh is numbered by it.
    pub steps: u128,
    /// Every put of ours, to be repeated.
    pub inserts: Vec<NewTask>,
    /// Every take, to be repeated.
    pub takes: Vec<TakeRequest>,
    /// Every settlement, to be repeated.
    pub settlements: Vec<Operation>,
    /// Every return, to be repeated.
    pub give_backs: Vec<Operation>,
    /// Every lease that was handed out.
    pub leases: Vec<Lease>,
    /// What the last operation has to be answered, and why.
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
    /// An empty, unused queue.
    #[must_use]
    pub fn start() -> Self {
        Self {
            queue: ReferenceQueue::default(),
            clock: START,
            steps: 0,
            inserts: Vec::new(),
            takes: Vec::new(),
            settlements: Vec::new(),
            give_backs: Vec::new(),
            leases: Vec::new(),
            last: None,
        }
    }

    /// Performs an operation on the reference, and remembers what its caller would.
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
            (Operation::GiveBack { .. }, _) => self.give_backs.push(operation.clone()),
            _ => {}
        }
        self.last = Some((answer, rule));
    }
}
