//! The reference queue: records, one control item, and the documented rules.

mod control;
mod groups;
mod keys;
mod leases;
mod operator;
mod pages;
mod tasks;

use std::collections::BTreeMap;

use lifo_queue::control::{Control, GroupStates};
use lifo_queue::store::Written;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{Lease, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};

use crate::operation::{Answer, Operation};
use crate::rule::Rule;

/// A queue that follows the specification, one operation after the other.
#[derive(Clone, Debug, Default)]
pub struct ReferenceQueue {
    pub tasks: BTreeMap<TaskId, Record>,
    pub control: Control,
    pub groups: GroupStates,
}

impl ReferenceQueue {
    pub fn perform(&mut self, operation: &Operation) -> (Answer, Rule) {
        match operation {
            Operation::Insert(task) => self.insert(task),
            Operation::Foreign(task) => self.foreign(task),
            Operation::Waiting(pass) => self.waiting(pass),
            Operation::Leases(pass) => self.leases(pass),
            Operation::Take(request) => self.take(request),
            Operation::Settle {
                lease,
                settlement,
                now,
            } => self.settle(lease, settlement, *now),
            Operation::Return {
                lease, returned, ..
            } => self.return_task(lease, returned),
            Operation::Reclaim {
                lease,
                reclaim,
                now,
            } => self.reclaim(lease, reclaim, *now),
            Operation::Quarantine {
                seen,
                reason,
                keep_until,
                ..
            } => self.quarantine(seen, reason, *keep_until),
            Operation::Adopt { task, seen, ttl } => self.adopt(task, *seen, *ttl),
            Operation::Redrive { redrive, now } => self.redrive(redrive, *now),
            Operation::Cancel(task) => self.cancel(task),
            Operation::Request => self.request(),
            Operation::Mark { event, until, now } => self.mark(event, *until, *now),
            Operation::Look => (Answer::Control(self.control.clone()), Rule::Look),
            Operation::Acquire { claim, now } => self.acquire(claim, *now),
            Operation::Renew(renewal) => self.renew(renewal),
            Operation::Release(release) => self.release(release),
            Operation::Pause(pause) => self.pause(pause),
            Operation::Resume => self.resume(),
            Operation::HoldBreaker(hold) => self.hold_breaker(hold),
            Operation::CloseBreaker => self.close_breaker(),
            Operation::Limit(limits) => self.limit(limits),
            Operation::ChangeGroup { group, change, now } => self.change_group(group, change, *now),
            Operation::Learn { learned, by, seen } => self.learn_groups(learned, *by, *seen),
            Operation::LookAtGroups => (Answer::Groups(self.groups.clone()), Rule::LookAtGroups),
        }
    }
}

fn done(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Done), rule)
}

/// "A transition that finds another state is `Lost`."
fn lost(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Lost), rule)
}

/// The run ended, and a newer state of the key is pending.
fn overtaken(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Overtaken), rule)
}

/// Whether the task has this status and this lease's token.
fn stands(task: &Record, status: TaskStatus, lease: &Lease) -> bool {
    task.status == status && task.lease_token == Some(lease.token)
}

/// Whether the deadline has passed. A `ttl` above 10^11 is in milliseconds. A missing or malformed
/// one never passes.
fn is_expired(ttl: Ttl, now: Millis) -> bool {
    match ttl {
        Ttl::Seconds(at) => at.0 * 1000 <= now.0,
        Ttl::Milliseconds(at) => at.0 <= now.0,
        Ttl::Missing | Ttl::Malformed => false,
    }
}

/// The stored part of a `lastError`: its first 1,024 characters. The drawn reasons are ASCII.
fn kept(reason: &str) -> String {
    reason.chars().take(1024).collect()
}

/// A time in whole seconds, rounded up, plus `seconds`.
fn seconds_after(now: Millis, seconds: u64) -> EpochSeconds {
    let rounded_up = now.0 / 1000 + i64::from(now.0 % 1000 > 0);
    EpochSeconds(rounded_up + seconds.cast_signed())
}
