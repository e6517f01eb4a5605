//! The reference queue: records, a control item, and the documented rules.

pub(crate) mod control;
pub(crate) mod groups;
pub(crate) mod keys;
pub(crate) mod leases;
pub(crate) mod operator;
pub(crate) mod pages;
pub(crate) mod sweep;
pub(crate) mod tasks;

use std::collections::BTreeMap;

use lifo_queue::control::{Control, GroupStates};
use lifo_queue::store::Written;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{Lease, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};

use crate::answer::Answer;
use crate::operation::{Operation, Rule, call_of};

/// A queue that follows the specification, one operation at a time.
#[derive(Clone, Debug, Default)]
pub struct ReferenceQueue {
    pub tasks: BTreeMap<TaskId, Record>,
    pub control: Control,
    pub groups: GroupStates,
}

impl ReferenceQueue {
    pub fn perform(&mut self, operation: &Operation) -> (Answer, Rule) {
        macro_rules! call {
            ($method:ident $arguments:tt) => {
                self.$method $arguments
            };
        }
        call_of!(operation, call, {
            Operation::Foreign(task) => self.foreign(task),
            Operation::Waiting(pass) => self.waiting(pass),
            Operation::Leases(pass) => self.leases(pass),
        })
    }
}

fn done(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Done), rule)
}

/// "A transition that finds another state is `Lost`."
fn lost(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Lost), rule)
}

/// Returns the answer to an ended run whose key has a newer pending state.
fn overtaken(rule: Rule) -> (Answer, Rule) {
    (Answer::Written(Written::Overtaken), rule)
}

/// Whether the task has this status and the token of this lease.
fn stands(task: &Record, status: TaskStatus, lease: &Lease) -> bool {
    task.status == status && task.lease_token == Some(lease.token)
}

/// Whether the deadline has passed. A `ttl` above 10^11 is in milliseconds. A missing or malformed
/// `ttl` never passes.
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

/// Returns `now` in whole seconds, rounded up, plus `seconds`.
fn seconds_after(now: Millis, seconds: u64) -> EpochSeconds {
    let rounded_up = now.0 / 1000 + i64::from(now.0 % 1000 > 0);
    EpochSeconds(rounded_up + seconds.cast_signed())
}
