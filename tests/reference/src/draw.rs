//! Draws operations. Most are what a correct caller does in this state. The others are late, early,
//! repeated, stale or forged.

mod control;
mod groups;
mod leases;
mod operator;
mod pages;
mod tasks;

use std::ops::Range;

use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Millis;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use crate::machine::Machine;
use crate::operation::Operation;

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Duration of a task lease, in milliseconds.
const LEASE: i64 = 40_000;

/// Time until a task expires, in milliseconds, unless it expires soon or already has.
const LIFE: i64 = 3_600_000;

pub fn operation(machine: &Machine) -> BoxedStrategy<Operation> {
    let free = IDS.len() - machine.queue.tasks.len();
    let count = |status| {
        let tasks = machine.queue.tasks.values();
        tasks.filter(|task| task.status == status).count()
    };
    let pending = count(TaskStatus::Pending);
    let taken = count(TaskStatus::Taken);
    let failed = count(TaskStatus::Failure);
    let like = |like: fn(&Record) -> bool| machine.queue.tasks.values().filter(|t| like(t)).count();
    let running_keys = like(|task| task.version.is_some() && task.status == TaskStatus::Taken);
    let overtaken = like(|task| task.overtaken);
    // An operation that a store would reject is drawn rarely.
    let weight = |promising: usize, usual: u32| if promising > 0 { usual } else { 1 };
    Union::new_weighted(vec![
        (weight(free, 6), tasks::insert(machine)),
        (12 + 3 * weight(running_keys, 4), tasks::state(machine)),
        (weight(free, 5), tasks::foreign(machine)),
        (4, pages::waiting(machine)),
        (2, pages::leases(machine)),
        (weight(pending, 13), tasks::take(machine)),
        (weight(taken, 8), leases::settle(machine)),
        (weight(taken, 8), leases::return_task(machine)),
        (
            weight(taken, 8) + weight(overtaken, 20),
            leases::reclaim(machine),
        ),
        (weight(pending, 3), tasks::quarantine(machine)),
        (weight(pending, 4), tasks::adopt(machine)),
        (weight(failed, 10), operator::redrive(machine)),
        (2, operator::cancel(machine)),
        (2, Just(Operation::Request).boxed()),
        (5, control::mark(machine)),
        (1, Just(Operation::Look).boxed()),
        (6, control::acquire(machine)),
        (3, control::renew(machine)),
        (5, control::release(machine)),
        (3, operator::pause(machine)),
        (2, Just(Operation::Resume).boxed()),
        (2, operator::hold_breaker(machine)),
        (2, Just(Operation::CloseBreaker).boxed()),
        (2, operator::limit(machine)),
        (2, groups::change(machine)),
        (2, groups::learn(machine)),
        (1, Just(Operation::LookAtGroups).boxed()),
    ])
    .boxed()
}

/// The time of the operation: mostly a little later, sometimes later by a whole lease, rarely past
/// every deadline. It is sometimes earlier, as by another machine's clock.
fn moment(machine: &Machine) -> BoxedStrategy<Millis> {
    let clock = machine.clock;
    prop_oneof![
        60 => 0..50_i64,
        20 => 0..3_000_i64,
        6 => Just(LEASE),
        5 => -1_500..0_i64,
        1 => Just(LIFE),
    ]
    .prop_map(move |passed| Millis(clock.0 + passed))
    .boxed()
}

/// A time at this distance from the clock, in milliseconds.
fn around(machine: &Machine, range: Range<i64>) -> BoxedStrategy<Millis> {
    let clock = machine.clock;
    range
        .prop_map(move |passed| Millis(clock.0 + passed))
        .boxed()
}

/// An id, preferably one of these, else mostly one of an existing task.
fn id(machine: &Machine, preferred: Vec<TaskId>) -> BoxedStrategy<TaskId> {
    let any = select(&IDS[..]).prop_map(TaskId::from_stored);
    let mut drawn = vec![(1, any.boxed())];
    for (weight, ids) in [(6, preferred), (2, ids(machine, |_| true))] {
        if !ids.is_empty() {
            drawn.push((weight, select(ids).boxed()));
        }
    }
    Union::new_weighted(drawn).boxed()
}

fn ids(machine: &Machine, like: impl Fn(&Record) -> bool) -> Vec<TaskId> {
    let tasks = machine.queue.tasks.iter();
    tasks
        .filter(|(_, task)| like(task))
        .map(|(id, _)| id.clone())
        .collect()
}

/// A reason of a failure. It is sometimes too long to be stored completely.
fn reason() -> BoxedStrategy<String> {
    prop_oneof![
        9 => select(&["broken", "busy", "later"][..]).prop_map(str::to_owned),
        1 => (1020..1030_usize).prop_map(|length| "x".repeat(length)),
    ]
    .boxed()
}
