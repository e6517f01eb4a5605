//! Draws reads of the index.

use lifo_queue::store::Order;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::moment;
use crate::machine::Machine;
use crate::operation::{Operation, Pass};

fn pass(machine: &Machine, statuses: &'static [TaskStatus]) -> BoxedStrategy<Pass> {
    // Bounds at the edges: a task's age, one millisecond above it, and far below.
    let mut ages: Vec<Millis> = vec![Millis(0)];
    for task in machine.queue.tasks.values() {
        ages.extend([task.created, Millis(task.created.0 + 1)]);
    }
    let bound = prop_oneof![1 => Just(None), 1 => select(ages).prop_map(Some)];
    let order = prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)];
    let limits = vec(1..5_u16, 1..4);
    (select(statuses), order, bound, limits, moment(machine))
        .prop_map(|(status, order, created_from, limits, now)| Pass {
            status,
            order,
            created_from,
            limits,
            now,
        })
        .boxed()
}

pub(super) fn waiting(machine: &Machine) -> BoxedStrategy<Operation> {
    const STATUSES: &[TaskStatus] = &[
        TaskStatus::Pending,
        TaskStatus::Pending,
        TaskStatus::Pending,
        TaskStatus::Failure,
        TaskStatus::Success,
    ];
    pass(machine, STATUSES).prop_map(Operation::Waiting).boxed()
}

pub(super) fn leases(machine: &Machine) -> BoxedStrategy<Operation> {
    pass(machine, &[TaskStatus::Taken])
        .prop_map(Operation::Leases)
        .boxed()
}
