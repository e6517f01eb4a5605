//! Draws operations that end leases: by holders, late ones, forged ones, and the sweep.

use lifo_queue::task::{Lease, LeaseToken, Reclaim, Return, Settlement, TaskStatus};
use lifo_queue::time::Millis;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use uuid::Uuid;

use super::{LEASE, LIFE, around, id, ids, moment, reason};
use crate::machine::Machine;
use crate::operation::Operation;

/// A token that no take had.
const FORGED: LeaseToken = LeaseToken(Uuid::max());

/// A lease. Most are current, above all on a key with a newer state. Others are the last lease of a
/// task that is no longer TAKEN, an earlier lease of a TAKEN task, or forged.
fn lease(machine: &Machine) -> BoxedStrategy<Lease> {
    let (mut standing, mut ended, mut late) = (Vec::new(), Vec::new(), Vec::new());
    let mut overtaken = Vec::new();
    for lease in &machine.leases {
        let Some(task) = machine.queue.tasks.get(&lease.task) else {
            continue;
        };
        let last = task.lease_token == Some(lease.token);
        match (last, task.status == TaskStatus::Taken) {
            (true, true) if task.overtaken => overtaken.push(lease.clone()),
            (true, true) => standing.push(lease.clone()),
            (true, false) => ended.push(lease.clone()),
            (false, true) => late.push(lease.clone()),
            (false, false) => {}
        }
    }
    let clock = machine.clock;
    let taken = ids(machine, |task| task.status == TaskStatus::Taken);
    let forged = id(machine, taken).prop_map(move |task| Lease {
        task,
        token: FORGED,
        until: Millis(clock.0 + LEASE),
    });
    let mut drawn = vec![(2, forged.boxed())];
    let all = machine.leases.clone();
    let groups = [
        (18, standing),
        (36, overtaken),
        (9, ended),
        (9, late),
        (2, all),
    ];
    for (weight, leases) in groups {
        if !leases.is_empty() {
            drawn.push((weight, select(leases).boxed()));
        }
    }
    let drawn = Union::new_weighted(drawn);
    // Sometimes the lease names another task.
    (drawn, id(machine, Vec::new()), 0..20_u8)
        .prop_map(|(lease, other, astray)| match astray {
            19 => Lease {
                task: other,
                ..lease
            },
            _ => lease,
        })
        .boxed()
}

/// The current lease of a TAKEN task that ran alone, above all of a key with a newer state; another
/// lease if there is none. Only these tasks can fail by a sweep.
fn alone(machine: &Machine) -> BoxedStrategy<Lease> {
    let tasks = &machine.queue.tasks;
    let of = |overtaken: bool| {
        let leases = machine.leases.iter().filter(|lease| {
            tasks.get(&lease.task).is_some_and(|task| {
                let current = task.status == TaskStatus::Taken && task.alone;
                current && task.lease_token == Some(lease.token) && task.overtaken == overtaken
            })
        });
        leases.cloned().collect::<Vec<_>>()
    };
    let mut drawn = Vec::new();
    for (weight, leases) in [(1, of(false)), (4, of(true))] {
        if !leases.is_empty() {
            drawn.push((weight, select(leases).boxed()));
        }
    }
    match drawn.is_empty() {
        true => lease(machine),
        false => Union::new_weighted(drawn).boxed(),
    }
}

/// A new operation, or a repetition: mostly of the latest one.
fn or_again(before: &[Operation], fresh: BoxedStrategy<Operation>) -> BoxedStrategy<Operation> {
    let latest = before.last().cloned();
    match latest {
        None => fresh,
        Some(latest) => {
            let any = select(before.to_vec());
            prop_oneof![8 => fresh, 3 => Just(latest), 1 => any].boxed()
        }
    }
}

pub(super) fn settle(machine: &Machine) -> BoxedStrategy<Operation> {
    let settlement = prop_oneof![
        2 => Just(Settlement::Success),
        5 => reason().prop_map(|reason| Settlement::Failure { reason }),
    ];
    let fresh =
        (lease(machine), settlement, moment(machine)).prop_map(|(lease, settlement, now)| {
            Operation::Settle {
                lease,
                settlement,
                now,
            }
        });
    or_again(&machine.settlements, fresh.boxed())
}

/// A return, due immediately or later.
pub(super) fn return_task(machine: &Machine) -> BoxedStrategy<Operation> {
    let back = (
        around(machine, 0..8_000),
        any::<bool>(),
        any::<bool>(),
        reason(),
    );
    let fresh = (lease(machine), back, moment(machine))
        .prop_map(
            |(lease, (not_before, attempt_counts, lease_expired, reason), now)| {
                let returned = Return {
                    not_before,
                    attempt_counts,
                    lease_expired,
                    reason,
                };
                Operation::Return {
                    lease,
                    returned,
                    now,
                }
            },
        )
        .boxed();
    or_again(&machine.returns, fresh)
}

/// A sweep of a lease: exactly at its expiry, later, or a millisecond too early.
pub(super) fn reclaim(machine: &Machine) -> BoxedStrategy<Operation> {
    // Few crashes suffice, so that the sequences are long enough for them.
    let crashes = prop_oneof![3 => Just(1_u32), 2 => Just(2), 1 => Just(3)];
    let reclaim = (0..10_u8, crashes, around(machine, LEASE..LEASE + 8_000));
    let after = prop_oneof![
        3 => Just(Some(0_i64)),
        3 => (0..2_000_i64).prop_map(Some),
        1 => Just(Some(-1_i64)),
        2 => Just(None),
    ];
    let lease = prop_oneof![lease(machine), alone(machine)];
    (lease, reclaim, after, moment(machine))
        .prop_map(|(lease, (kind, max_crashes, not_before), after, now)| {
            let now = after.map_or(now, |after| Millis(lease.until.0 + after));
            let keep_until = Millis(now.0 + LIFE).ceil_seconds();
            let reclaim = match kind {
                0..=2 => Reclaim::Return {
                    not_before,
                    max_crashes,
                },
                3..=5 => Reclaim::Fail { keep_until },
                _ => Reclaim::FailCrashing {
                    keep_until,
                    max_crashes,
                },
            };
            Operation::Reclaim {
                lease,
                reclaim,
                now,
            }
        })
        .boxed()
}
