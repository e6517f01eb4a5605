//! Draws operations that create, take, quarantine or adopt tasks.

use lifo_queue::store::{Candidate, TakeRequest};
use lifo_queue::task::{Keyed, LeaseToken, NewTask, Place, TaskId, TaskStatus, Ttl, Version};
use lifo_queue::time::{EpochSeconds, Millis};
use lifo_queue::trace::TraceHeader;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{IDS, LEASE, LIFE, around, id, ids, moment, reason};
use crate::machine::Machine;
use crate::operation::{ForeignTask, Operation};
use crate::queue::ReferenceQueue;

/// Time by which a take moves the `ttl`, in seconds.
const TAKEN_TTL: i64 = 86_400;

fn free(machine: &Machine) -> Vec<TaskId> {
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

/// The expiry of a task: mostly late, sometimes soon, sometimes in the past.
fn deadline(machine: &Machine) -> BoxedStrategy<Millis> {
    prop_oneof![
        8 => around(machine, LIFE..LIFE + 5_000),
        2 => around(machine, 0..5_000),
        1 => around(machine, -2_000..1),
    ]
    .boxed()
}

/// A task of our own writers: with an unused id, with a used id, or a repeated put.
pub(super) fn insert(machine: &Machine) -> BoxedStrategy<Operation> {
    let token = Uuid::from_u128(machine.steps);
    let parts = (
        id(machine, free(machine)),
        around(machine, -5..1),
        deadline(machine),
        proptest::option::weighted(0.2, around(machine, 0..10_000)),
        payload(),
    );
    let fresh = parts.prop_map(move |(id, created, deadline, not_before, payload)| {
        Operation::Insert(NewTask {
            id,
            created,
            expires_at: deadline.floor_seconds(),
            not_before,
            payload,
            create_token: token,
            keyed: None,
            trace: trace(token),
        })
    });
    if machine.inserts.is_empty() {
        return fresh.boxed();
    }
    let again = select(machine.inserts.clone()).prop_map(Operation::Insert);
    prop_oneof![5 => fresh, 2 => again].boxed()
}

/// A state of a key: mostly newer than the stored one, sometimes older or the same.
pub(super) fn state(machine: &Machine) -> BoxedStrategy<Operation> {
    let token = Uuid::from_u128(machine.steps);
    let keys = ids(machine, |task| task.version.is_some());
    let running = ids(machine, |task| {
        task.version.is_some() && task.status == TaskStatus::Taken
    });
    let preferred = prop_oneof![
        4 => id(machine, keys),
        3 => id(machine, running),
        3 => id(machine, free(machine)),
        1 => id(machine, Vec::new()),
    ];
    let order = (0..3_u64, 0..10_u8);
    let parts = (
        preferred,
        around(machine, -5..1),
        deadline(machine),
        payload(),
        order,
        any::<bool>(),
        moment(machine),
        proptest::option::weighted(0.2, around(machine, 0..10_000)),
    );
    let queue = machine.queue.clone();
    parts
        .prop_map(
            move |(id, created, deadline, payload, (step, odd), moves, written, not_before)| {
                let there = queue.tasks.get(&id).and_then(|task| task.version.as_ref());
                let by_time = odd == 0;
                let version = match there.and_then(Version::sequence) {
                    _ if by_time => Version::by_time(created, "m#00000"),
                    None => Version::by_sequence(10 + step),
                    // Older, the same or newer.
                    Some(old) if odd <= 3 => Version::by_sequence(old.saturating_sub(1) + step),
                    Some(old) => Version::by_sequence(old + 1 + step),
                };
                let place = if moves { Place::Moves } else { Place::Stays };
                Operation::Insert(NewTask {
                    id,
                    created,
                    expires_at: deadline.floor_seconds(),
                    not_before,
                    payload,
                    create_token: token,
                    keyed: Some(Keyed {
                        version,
                        place,
                        written,
                    }),
                    trace: trace(token),
                })
            },
        )
        .boxed()
}

/// A trace for every second task.
fn trace(token: Uuid) -> Option<TraceHeader> {
    let step = token.as_u128();
    let header = format!("Root=1-5759e988-{step:024x};Parent=53995c3f42cd8ad8;Sampled=1");
    header.parse().ok().filter(|_| step.is_multiple_of(2))
}

fn foreign_ttl(machine: &Machine) -> BoxedStrategy<Ttl> {
    prop_oneof![
        4 => Just(Ttl::Missing),
        5 => deadline(machine).prop_map(Ttl::Milliseconds),
        1 => deadline(machine).prop_map(|at| Ttl::Seconds(at.floor_seconds())),
        1 => Just(Ttl::Malformed),
        // The writer gave a duration by mistake.
        1 => Just(Ttl::Seconds(EpochSeconds(3_600))),
    ]
    .boxed()
}

pub(super) fn foreign(machine: &Machine) -> BoxedStrategy<Operation> {
    let parts = (
        id(machine, free(machine)),
        around(machine, -5..1),
        foreign_ttl(machine),
    );
    parts
        .prop_map(|(id, created, ttl)| Operation::Foreign(ForeignTask { id, created, ttl }))
        .boxed()
}

/// The index entry of a task. Its deadline is sometimes outdated.
fn candidate(machine: &Machine) -> BoxedStrategy<Candidate> {
    let waiting = ids(machine, |task| task.status == TaskStatus::Pending);
    let queue = machine.queue.clone();
    let ttl = prop_oneof![6 => Just(None), 1 => foreign_ttl(machine).prop_map(Some)];
    (id(machine, waiting), ttl)
        .prop_map(move |(id, stale)| {
            let shown = queue
                .tasks
                .get(&id)
                .map(|task| ReferenceQueue::candidate(&id, task));
            let mut candidate = shown.unwrap_or(Candidate {
                id,
                created: Millis(0),
                ttl: Ttl::Seconds(EpochSeconds(0)),
                not_before: None,
                attempts: 0,
                lease_expired: false,
            });
            candidate.ttl = stale.unwrap_or(candidate.ttl);
            candidate
        })
        .boxed()
}

/// A take with a new token, or a repeated one.
pub(super) fn take(machine: &Machine) -> BoxedStrategy<Operation> {
    let token = LeaseToken(Uuid::from_u128(machine.steps));
    let parts = (candidate(machine), moment(machine), any::<bool>());
    let fresh = parts.prop_map(move |(candidate, now, alone)| {
        Operation::Take(TakeRequest {
            candidate,
            token,
            lease_until: Millis(now.0 + LEASE),
            taken_ttl: EpochSeconds(now.0 / 1000 + TAKEN_TTL),
            default_deadline: EpochSeconds((now.0 + LIFE) / 1000),
            alone,
            now,
        })
    });
    if machine.takes.is_empty() {
        return fresh.boxed();
    }
    // Mostly one of the last two takes, as in a real repetition.
    let latest: Vec<_> = machine.takes.iter().rev().take(2).cloned().collect();
    let again = prop_oneof![4 => select(latest), 1 => select(machine.takes.clone())];
    prop_oneof![9 => fresh, 2 => again.prop_map(Operation::Take)].boxed()
}

/// A quarantine, mostly of a pending task, as the index shows it. The entry is sometimes outdated.
pub(super) fn quarantine(machine: &Machine) -> BoxedStrategy<Operation> {
    let aged = prop_oneof![5 => Just(0_i64), 1 => Just(-1), 1 => Just(1)];
    (
        candidate(machine),
        aged,
        reason(),
        deadline(machine),
        moment(machine),
    )
        .prop_map(|(mut seen, aged, reason, keep_until, now)| {
            seen.created.0 += aged;
            Operation::Quarantine {
                seen,
                reason,
                keep_until: keep_until.ceil_seconds(),
                now,
            }
        })
        .boxed()
}

/// An adoption after a read of the current deadline, or of an outdated one.
pub(super) fn adopt(machine: &Machine) -> BoxedStrategy<Operation> {
    let foreign = |ttl| matches!(ttl, Ttl::Missing | Ttl::Milliseconds(_));
    let orphans = ids(machine, |task| {
        task.status == TaskStatus::Pending && foreign(task.ttl)
    });
    let queue = machine.queue.clone();
    let seen = prop_oneof![1 => Just(None), 1 => foreign_ttl(machine).prop_map(Some)];
    (id(machine, orphans), seen, deadline(machine))
        .prop_map(move |(task, seen, ttl)| {
            let there = queue.tasks.get(&task).map_or(Ttl::Missing, |task| task.ttl);
            Operation::Adopt {
                task,
                seen: seen.unwrap_or(there),
                ttl: ttl.floor_seconds(),
            }
        })
        .boxed()
}
