//! Table rows in which a holder ends its lease: settle and return.

use lifo_queue::store::memory::Record;
use lifo_queue::task::{Counts, Lease, LeaseToken, Retention, Return, Settlement, TaskStatus, Ttl};
use lifo_queue::time::Millis;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use uuid::Uuid;

use super::{ReferenceQueue, done, kept, lost, overtaken, seconds_after, stands};
use crate::answer::Answer;
use crate::draw::{Drawn, LEASE, around, id, ids, moment, reason, weight};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

/// Moves the task out of TAKEN: sets the new status and removes `leaseUntil` and `expiresAt`.
pub(super) fn leave_taken(task: &mut Record, status: TaskStatus) {
    task.status = status;
    task.lease_until = None;
    task.expires_at = None;
}

/// Ends an overtaken run: the newer state becomes PENDING, with its own deadline and no attempts.
pub(super) fn leave_overtaken(task: &mut Record) {
    task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
    leave_taken(task, TaskStatus::Pending);
    task.overtaken = false;
    task.attempts = 0;
    task.total_attempts = 0;
}

/// Sets the delay. A newer state keeps its own delay, if any.
pub(super) fn wait_until(task: &mut Record, at: Millis) {
    task.not_before = match task.not_before {
        Some(delay) if task.overtaken => Some(delay),
        _ => Some(at),
    };
}

/// Whether this lease's holder has ended its run and a newer state of the key is pending. The
/// pending key then has the lease's token, which the sweep would have removed.
fn ended_overtaken(task: &Record, lease: &Lease) -> bool {
    task.version.is_some() && stands(task, TaskStatus::Pending, lease)
}

impl ReferenceQueue {
    /// TAKEN → SUCCESS or FAILURE, settle: requires the lease's token, which the task keeps. `ttl`
    /// becomes now plus the retention for the new status. A repeated settle that finds its own
    /// token and target status succeeds.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> (Answer, Rule) {
        let (target, kept_for, rule) = match settlement {
            Settlement::Success => (TaskStatus::Success, retention.success, Rule::SettleSuccess),
            Settlement::Failure { .. } => {
                (TaskStatus::Failure, retention.failure, Rule::SettleFailure)
            }
        };
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::SettleGone);
        };
        if stands(task, target, lease) {
            return done(Rule::SettleRepeated);
        }
        if ended_overtaken(task, lease) {
            return overtaken(Rule::SettleOvertakenRepeated);
        }
        if task.status != TaskStatus::Taken {
            return lost(Rule::SettleNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::SettleOtherLease);
        }
        if let Settlement::Failure { reason } = settlement {
            task.last_error = Some(kept(reason));
        }
        task.crashes = 0;
        if task.overtaken {
            leave_overtaken(task);
            return overtaken(Rule::SettleOvertaken);
        }
        leave_taken(task, target);
        task.ttl = Ttl::Seconds(seconds_after(now, kept_for.as_secs()));
        done(rule)
    }

    /// TAKEN → PENDING, return: requires the lease's token, which the task keeps. The deadline is
    /// restored, and *busy* restores the attempt. The expired-lease mark is kept.
    pub(super) fn return_task(
        &mut self,
        lease: &Lease,
        returned: &Return,
        _now: Millis,
    ) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::ReturnGone);
        };
        if stands(task, TaskStatus::Pending, lease) {
            return done(Rule::ReturnRepeated);
        }
        if task.status != TaskStatus::Taken {
            return lost(Rule::ReturnNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::ReturnOtherLease);
        }
        wait_until(task, returned.not_before);
        task.last_error = Some(kept(&returned.reason));
        task.lease_expired = returned.lease_expired;
        if task.overtaken {
            leave_overtaken(task);
            task.superseded += 1;
            return overtaken(Rule::ReturnOvertaken);
        }
        task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
        leave_taken(task, TaskStatus::Pending);
        match returned.counts {
            Counts::Attempt => done(Rule::Return),
            Counts::Start => {
                task.attempts -= 1;
                done(Rule::ReturnFree)
            }
            Counts::Nothing => {
                task.attempts -= 1;
                task.total_attempts -= 1;
                done(Rule::ReturnUnstarted)
            }
        }
    }
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    let taken = weight(machine, 8, |task| task.status == TaskStatus::Taken);
    vec![(taken, settle(machine)), (taken, return_task(machine))]
}

/// Token that is never used by a take.
const FORGED: LeaseToken = LeaseToken(Uuid::max());

/// Draws a lease. Most are current, especially for keys with a newer state. The others are the last
/// lease of a task that is no longer TAKEN, an earlier lease of a TAKEN task, or a forged lease.
pub(super) fn lease(machine: &Machine) -> BoxedStrategy<Lease> {
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

/// Draws a new operation or a repeated one, mostly the most recent.
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

fn settle(machine: &Machine) -> BoxedStrategy<Operation> {
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

/// Draws a return after which the task is due immediately or later.
fn return_task(machine: &Machine) -> BoxedStrategy<Operation> {
    let back = (
        around(machine, 0..8_000),
        prop::sample::select(vec![Counts::Attempt, Counts::Start, Counts::Nothing]),
        any::<bool>(),
        reason(),
    );
    let fresh = (lease(machine), back, moment(machine))
        .prop_map(
            |(lease, (not_before, counts, lease_expired, reason), now)| {
                let returned = Return {
                    not_before,
                    counts,
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
