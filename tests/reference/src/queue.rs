//! The reference queue: rows, one control item, and the rules as they are written down.

mod control;
mod keys;
mod leases;
mod operator;
mod pages;
mod tasks;

use std::collections::BTreeMap;

use lifo_queue::control::Control;
use lifo_queue::store::Written;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{Lease, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};

use crate::operation::{Answer, Operation};
use crate::rule::Rule;

/// A queue that does what the specification says, one operation after the other.
#[derive(Clone, Debug, Default)]
pub struct ReferenceQueue {
    /// The tasks that are there.
    pub tasks: BTreeMap<TaskId, Record>,
    /// The control item.
    pub control: Control,
}

impl ReferenceQueue {
    /// Performs an operation: what a queue has to answer, and by which rule.
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
            Operation::GiveBack {
                lease, give_back, ..
            } => self.give_back(lease, give_back),
            Operation::Reclaim {
                lease,
                reclaim,
                now,
            } => self.reclaim(lease, reclaim, *now),
            Operation::Quarantine {
                task,
                seen,
                reason,
                keep_until,
                ..
            } => self.quarantine(task, *seen, reason, *keep_until),
            Operation::Adopt { task, seen, ttl } => self.adopt(task, *seen, *ttl),
            Operation::Redrive { redrive, now } => self.redrive(redrive, *now),
            Operation::Cancel(task) => self.cancel(task),
            Operation::Request => self.request(),
            Operation::Mark { event, until, now } => self.mark(event, *until, *now),
            Operation::Look => (Answer::Control(self.control.clone()), Rule::Look),
            Operation::Acquire { claim, now } => self.acquire(claim, *now),
            Operation::Renew(renewal) => self.renew(*renewal),
            Operation::Release(release) => self.release(release),
            Operation::Pause(pause) => self.pause(pause),
            Operation::Resume => self.resume(),
            Operation::HoldBreaker(hold) => self.hold_breaker(hold),
            Operation::CloseBreaker => self.close_breaker(),
        }
    }
}

/// It is as asked, by this rule.
fn done(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Done), rule)
}

/// "A transition that finds another state is `Lost`."
fn lost(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Lost), rule)
}

/// It is over, but a newer state of the key waits.
fn overtaken(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Overtaken), rule)
}

/// Whether this lease's token stands on the task in this state.
fn stands(task: &Record, status: TaskStatus, lease: &Lease) -> bool {
    task.status == status && task.lease_token == Some(lease.token)
}

/// Whether the deadline has come: "a `ttl` over 10^11 is milliseconds", one that is missing or
/// no number never comes.
fn is_expired(ttl: Ttl, now: Millis) -> bool {
    match ttl {
        Ttl::Seconds(at) => at.0 * 1000 <= now.0,
        Ttl::Milliseconds(at) => at.0 <= now.0,
        Ttl::Missing | Ttl::Malformed => false,
    }
}

/// "`lastError` S, truncated": a kilobyte of it is kept. The reasons drawn are ASCII.
fn kept(reason: &str) -> String {
    reason.chars().take(1024).collect()
}

/// Whole seconds that are not before this time, and `seconds` later.
fn seconds_after(now: Millis, seconds: u64) -> EpochSeconds {
    let rounded_up = now.0 / 1000 + i64::from(now.0 % 1000 > 0);
    EpochSeconds(rounded_up + seconds.cast_signed())
}
