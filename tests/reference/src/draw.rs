//! Draws operations. A correct caller would perform most of them in this state. The others are
//! late, early, repeated, stale or forged.

use std::ops::Range;

use lifo_queue::store::memory::Record;
use lifo_queue::task::{NewTask, TaskId, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use lifo_queue::trace::TraceHeader;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::machine::Machine;
use crate::operation::Operation;
use crate::queue::{control, groups, keys, leases, operator, pages, sweep, tasks};

/// Operations with their weights.
pub(crate) type Drawn = Vec<(u32, BoxedStrategy<Operation>)>;

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Duration of a task lease, in milliseconds.
pub(crate) const LEASE: i64 = 40_000;

/// Time until a task expires, in milliseconds, unless it expires soon or has already expired.
pub(crate) const LIFE: i64 = 3_600_000;

pub fn operation(machine: &Machine) -> BoxedStrategy<Operation> {
    let families: [fn(&Machine) -> Drawn; 8] = [
        tasks::drawn,
        keys::drawn,
        pages::drawn,
        leases::drawn,
        sweep::drawn,
        operator::drawn,
        control::drawn,
        groups::drawn,
    ];
    let drawn = families.iter().flat_map(|family| family(machine));
    Union::new_weighted(drawn.collect()).boxed()
}

/// Returns the `usual` weight of an operation if a task matches `like`. Otherwise, the weight is
/// low, because a store would reject the operation.
pub(crate) fn weight(machine: &Machine, usual: u32, like: impl Fn(&Record) -> bool) -> u32 {
    if ids(machine, like).is_empty() {
        1
    } else {
        usual
    }
}

/// Draws the time of an operation, mostly slightly later, sometimes later by a full lease, rarely
/// past every deadline. It is sometimes earlier, as on another machine's clock.
pub(crate) fn moment(machine: &Machine) -> BoxedStrategy<Millis> {
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

/// Draws a time at this distance from the clock, in milliseconds.
pub(crate) fn around(machine: &Machine, range: Range<i64>) -> BoxedStrategy<Millis> {
    let clock = machine.clock;
    range
        .prop_map(move |passed| Millis(clock.0 + passed))
        .boxed()
}

/// Draws an id, mostly one of `preferred`, otherwise mostly an existing task's id.
pub(crate) fn id(machine: &Machine, preferred: Vec<TaskId>) -> BoxedStrategy<TaskId> {
    let any = select(&IDS[..]).prop_map(TaskId::from_stored);
    let mut drawn = vec![(1, any.boxed())];
    for (weight, ids) in [(6, preferred), (2, ids(machine, |_| true))] {
        if !ids.is_empty() {
            drawn.push((weight, select(ids).boxed()));
        }
    }
    Union::new_weighted(drawn).boxed()
}

pub(crate) fn ids(machine: &Machine, like: impl Fn(&Record) -> bool) -> Vec<TaskId> {
    let tasks = machine.queue.tasks.iter();
    tasks
        .filter(|(_, task)| like(task))
        .map(|(id, _)| id.clone())
        .collect()
}

/// Draws the reason for a failure, which is sometimes too long to be stored completely.
pub(crate) fn reason() -> BoxedStrategy<String> {
    prop_oneof![
        9 => select(&["broken", "busy", "later"][..]).prop_map(str::to_owned),
        1 => (1020..1030_usize).prop_map(|length| "x".repeat(length)),
    ]
    .boxed()
}

pub(crate) fn free(machine: &Machine) -> Vec<TaskId> {
    let ids = IDS.iter().map(|id| TaskId::from_stored(*id));
    ids.filter(|id| !machine.queue.tasks.contains_key(id))
        .collect()
}

fn payload() -> BoxedStrategy<Option<Value>> {
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        (0..100_i64).prop_map(|n| Some(json!({"n": n, "deep": [1, -2.5, null, "ü", {}]}))),
    ]
    .boxed()
}

/// Draws the expiry of a task, mostly late, sometimes soon, sometimes in the past.
pub(crate) fn deadline(machine: &Machine) -> BoxedStrategy<Millis> {
    prop_oneof![
        8 => around(machine, LIFE..LIFE + 5_000),
        2 => around(machine, 0..5_000),
        1 => around(machine, -2_000..1),
    ]
    .boxed()
}

/// Draws a task with an id from `id` and without a key.
pub(crate) fn new_task(machine: &Machine, id: BoxedStrategy<TaskId>) -> BoxedStrategy<NewTask> {
    let token = Uuid::from_u128(machine.steps);
    let parts = (
        id,
        around(machine, -5..1),
        deadline(machine),
        proptest::option::weighted(0.2, around(machine, 0..10_000)),
        payload(),
    );
    parts
        .prop_map(
            move |(id, created, deadline, not_before, payload)| NewTask {
                id,
                created,
                expires_at: deadline.floor_seconds(),
                not_before,
                payload,
                create_token: token,
                keyed: None,
                trace: trace(token),
            },
        )
        .boxed()
}

/// A trace header for every second task.
fn trace(token: Uuid) -> Option<TraceHeader> {
    let step = token.as_u128();
    let header = format!("Root=1-5759e988-{step:024x};Parent=53995c3f42cd8ad8;Sampled=1");
    header.parse().ok().filter(|_| step.is_multiple_of(2))
}

pub(crate) fn foreign_ttl(machine: &Machine) -> BoxedStrategy<Ttl> {
    prop_oneof![
        4 => Just(Ttl::Missing),
        5 => deadline(machine).prop_map(Ttl::Milliseconds),
        1 => deadline(machine).prop_map(|at| Ttl::Seconds(at.floor_seconds())),
        1 => Just(Ttl::Malformed),
        // By mistake, the writer specified a duration instead of a time.
        1 => Just(Ttl::Seconds(EpochSeconds(3_600))),
    ]
    .boxed()
}
