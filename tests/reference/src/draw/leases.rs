//! Ending leases: by their holders, by late ones, by forgers, by the sweep.

use lifo_queue::task::{GiveBack, Lease, LeaseToken, Reclaim, Settlement, TaskStatus};
use lifo_queue::time::Millis;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use uuid::Uuid;

use super::{LEASE, LIFE, around, id, ids, moment, reason};
use crate::machine::Machine;
use crate::operation::Operation;

/// A token no take ever had.
const FORGED: LeaseToken = LeaseToken(Uuid::max());

/// A lease: most often one that stands, sometimes one that ended a moment or a while ago,
/// sometimes one that was never handed out.
fn lease(machine: &Machine) -> BoxedStrategy<Lease> {
    let stands = |lease: &Lease, taken: bool| {
        let task = machine.queue.tasks.get(&lease.task);
        task.is_some_and(|task| {
            task.lease_token == Some(lease.token) && (task.status == TaskStatus::Taken) == taken
        })
    };
    let (mut standing, mut ended) = (Vec::new(), Vec::new());
    for lease in &machine.leases {
        if stands(lease, true) {
            standing.push(lease.clone());
        } else if stands(lease, false) {
            ended.push(lease.clone());
        }
    }
    let clock = machine.clock;
    let taken = ids(machine, |task| task.status == TaskStatus::Taken);
    let forged = id(taken).prop_map(move |task| Lease {
        task,
        token: FORGED,
        until: Millis(clock.0 + LEASE),
    });
    let mut drawn = vec![(2, forged.boxed())];
    for (weight, leases) in [(24, standing), (6, ended), (3, machine.leases.clone())] {
        if !leases.is_empty() {
            drawn.push((weight, select(leases).boxed()));
        }
    }
    let drawn = Union::new_weighted(drawn);
    // Now and then somebody else's lease, on a task of one's own.
    (drawn, id(Vec::new()), 0..20_u8)
        .prop_map(|(lease, other, astray)| match astray {
            19 => Lease {
                task: other,
                ..lease
            },
            _ => lease,
        })
        .boxed()
}

/// A settlement.
pub(super) fn settle(machine: &Machine) -> BoxedStrategy<Operation> {
    let settlement = prop_oneof![
        2 => Just(Settlement::Success),
        5 => reason().prop_map(|reason| Settlement::Failure { reason }),
    ];
    (lease(machine), settlement, moment(machine))
        .prop_map(|(lease, settlement, now)| Operation::Settle {
            lease,
            settlement,
            now,
        })
        .boxed()
}

/// A give-back, due at once or later.
pub(super) fn give_back(machine: &Machine) -> BoxedStrategy<Operation> {
    let back = (around(machine, 0..8_000), any::<bool>(), reason());
    (lease(machine), back, moment(machine))
        .prop_map(|(lease, (not_before, attempt_counts, reason), now)| {
            let give_back = GiveBack {
                not_before,
                attempt_counts,
                reason,
            };
            Operation::GiveBack {
                lease,
                give_back,
                now,
            }
        })
        .boxed()
}

/// A sweep of a lease: on the moment it runs out, later, or a little too early.
pub(super) fn reclaim(machine: &Machine) -> BoxedStrategy<Operation> {
    let reclaim = (any::<bool>(), around(machine, LEASE..LEASE + 8_000));
    let after = prop_oneof![
        3 => Just(Some(0_i64)),
        3 => (0..2_000_i64).prop_map(Some),
        1 => Just(Some(-1_i64)),
        2 => Just(None),
    ];
    (lease(machine), reclaim, after, moment(machine))
        .prop_map(|(lease, (fail, not_before), after, now)| {
            let now = after.map_or(now, |after| Millis(lease.until.0 + after));
            let reclaim = match fail {
                false => Reclaim::Return { not_before },
                true => Reclaim::Fail {
                    keep_until: Millis(now.0 + LIFE).ceil_seconds(),
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
