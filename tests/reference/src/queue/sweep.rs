//! Table rows in which a sweep ends an expired lease.

use lifo_queue::store::memory::Record;
use lifo_queue::task::{Lease, Reclaim, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::leases::{lease, leave_overtaken, leave_taken, wait_until};
use super::{ReferenceQueue, done, lost, overtaken};
use crate::answer::Answer;
use crate::draw::{Drawn, LEASE, LIFE, around, moment, weight};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

/// Fails a task that crashed too often. A newer state of its key fails too.
fn fail_crashing(task: &mut Record, keep_until: EpochSeconds) -> Rule {
    let rule = if task.overtaken {
        leave_overtaken(task);
        task.superseded += 1;
        Rule::ReclaimCrashesOvertaken
    } else {
        Rule::ReclaimCrashes
    };
    leave_taken(task, TaskStatus::Failure);
    task.ttl = Ttl::Seconds(keep_until);
    rule
}

impl ReferenceQueue {
    /// TAKEN → PENDING or FAILURE, sweep: requires that the lease that was read has expired. Only a
    /// task that ran alone becomes FAILURE. The token is removed. The deadline is restored, or
    /// replaced by the retention. A crash is counted until a run settles the task. A task that
    /// crashed too often becomes FAILURE, even with a newer state that was written during the run.
    pub(super) fn reclaim(
        &mut self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&lease.task) else {
            return lost(Rule::ReclaimGone);
        };
        if task.status != TaskStatus::Taken {
            return lost(Rule::ReclaimNotTaken);
        }
        if task.lease_token != Some(lease.token) {
            return lost(Rule::ReclaimOtherLease);
        }
        if task.lease_until.is_none_or(|until| until > now) {
            return lost(Rule::ReclaimTooEarly);
        }
        let crashes = task.crashes + 1;
        let rule = match reclaim {
            Reclaim::Return { max_crashes, .. } if task.alone && crashes >= *max_crashes => {
                return lost(Rule::ReclaimManyCrashes);
            }
            Reclaim::Return { not_before, .. } if task.overtaken => {
                wait_until(task, *not_before);
                leave_overtaken(task);
                task.superseded += 1;
                Rule::ReclaimOvertaken
            }
            Reclaim::FailCrashing { max_crashes, .. } if !task.alone || crashes < *max_crashes => {
                return lost(Rule::ReclaimFewCrashes);
            }
            Reclaim::FailCrashing { keep_until, .. } => fail_crashing(task, *keep_until),
            Reclaim::Fail { .. } if task.overtaken => return lost(Rule::ReclaimFailOvertaken),
            Reclaim::Return { not_before, .. } => {
                task.ttl = task.expires_at.map_or(task.ttl, Ttl::Seconds);
                leave_taken(task, TaskStatus::Pending);
                task.not_before = Some(*not_before);
                Rule::ReclaimReturn
            }
            Reclaim::Fail { .. } if !task.alone => return lost(Rule::ReclaimInCompany),
            Reclaim::Fail { keep_until } => {
                leave_taken(task, TaskStatus::Failure);
                task.ttl = Ttl::Seconds(*keep_until);
                Rule::ReclaimFail
            }
        };
        task.crashes = crashes;
        task.lease_token = None;
        task.lease_expired = true;
        task.last_error = Some(reclaim.reason().to_owned());
        match rule {
            Rule::ReclaimOvertaken | Rule::ReclaimCrashesOvertaken => overtaken(rule),
            rule => done(rule),
        }
    }
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    let taken = weight(machine, 8, |task| task.status == TaskStatus::Taken);
    let overtaken = weight(machine, 20, |task| task.overtaken);
    vec![(taken + overtaken, reclaim(machine))]
}

/// Draws the current lease of a TAKEN task that ran alone, especially for a key with a newer state;
/// any other lease if there is none. Only such tasks can fail in a sweep.
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

/// Draws a sweep of a lease exactly at its expiry, later, or one millisecond too early.
fn reclaim(machine: &Machine) -> BoxedStrategy<Operation> {
    // A few crashes suffice, so that the sequences are long enough to contain them.
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
