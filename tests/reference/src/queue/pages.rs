//! Index reads.

use lifo_queue::store::memory::Record;
use lifo_queue::store::{Candidate, Order, StandingLease};
use lifo_queue::task::{Lease, TaskId, TaskStatus, Ttl};
use lifo_queue::time::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{ReferenceQueue, is_expired};
use crate::answer::Answer;
use crate::draw::{Drawn, moment};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

/// A read of the index from one end to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    pub status: TaskStatus,
    /// The end at which the read starts.
    pub order: Order,
    /// The oldest creation time, if bounded.
    pub created_from: Option<Millis>,
    /// The page sizes, repeated in this order.
    pub limits: Vec<u16>,
    /// The current time, for omitting expired tasks.
    pub now: Millis,
}

impl ReferenceQueue {
    /// The tasks that have the pass's status and are not older than its bound, by age. Tasks
    /// created in the same millisecond are ordered by id.
    fn by_age(&self, pass: &Pass) -> Vec<(&TaskId, &Record)> {
        let mut tasks: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.status == pass.status)
            .filter(|(_, task)| pass.created_from.is_none_or(|from| task.created >= from))
            .collect();
        tasks.sort_by_key(|(id, task)| match pass.order {
            Order::NewestFirst => (-task.created.0, *id),
            Order::OldestFirst => (task.created.0, *id),
        });
        tasks
    }

    /// Omits expired tasks, except those that DynamoDB never deletes: tasks with a `ttl` in
    /// milliseconds or more than five years ago.
    pub(super) fn waiting(&self, pass: &Pass) -> (Answer, Rule) {
        let found = self.by_age(pass);
        let shown: Vec<Candidate> = found
            .iter()
            .filter(|(_, task)| {
                let Ttl::Seconds(at) = task.ttl else {
                    return true;
                };
                let five_years_ago = pass.now.0 / 1000 - 5 * 365 * 86_400;
                !is_expired(task.ttl, pass.now) || at.0 < five_years_ago
            })
            .map(|(id, task)| Self::candidate(id, task))
            .collect();
        let all = self
            .tasks
            .values()
            .filter(|task| task.status == pass.status);
        let rule = match pass.status {
            TaskStatus::Success | TaskStatus::Failure | TaskStatus::Taken => Rule::Settled,
            TaskStatus::Pending if shown.len() < found.len() => Rule::WaitingExpired,
            TaskStatus::Pending if found.len() < all.count() => Rule::WaitingBound,
            TaskStatus::Pending => Rule::Waiting,
        };
        (Answer::Waiting(shown), rule)
    }

    /// Returns the index entry of a task. Only PENDING entries have the expired-lease mark, because
    /// no caller needs it for others.
    pub fn candidate(id: &TaskId, task: &Record) -> Candidate {
        Candidate {
            id: id.clone(),
            created: task.created,
            ttl: task.ttl,
            not_before: task.not_before,
            attempts: task.attempts,
            lease_expired: task.status == TaskStatus::Pending && task.lease_expired,
        }
    }

    /// Returns the leases of all TAKEN tasks, live or expired.
    pub(super) fn leases(&self, pass: &Pass) -> (Answer, Rule) {
        let leases = self.by_age(pass).into_iter().filter_map(|(id, task)| {
            Some(StandingLease {
                lease: Lease {
                    task: id.clone(),
                    token: task.lease_token?,
                    until: task.lease_until?,
                },
                attempts: task.attempts,
            })
        });
        (Answer::Leases(leases.collect()), Rule::Leases)
    }
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    vec![(4, waiting(machine)), (2, leases(machine))]
}

fn pass(machine: &Machine, statuses: &'static [TaskStatus]) -> BoxedStrategy<Pass> {
    // Draw edge cases for bounds: a task's age, one millisecond above it, and far below.
    let mut ages: Vec<Millis> = vec![Millis(0)];
    for task in machine.queue.tasks.values() {
        ages.extend([task.created, Millis(task.created.0 + 1)]);
    }
    let bound = prop_oneof![1 => Just(None), 1 => select(ages).prop_map(Some)];
    let order = prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)];
    let limits = vec(1..5_u16, 1..4);
    (select(statuses), order, bound, limits, moment(machine))
        .prop_map(|(status, order, created_from, limits, now)| Pass {
            status,
            order,
            created_from,
            limits,
            now,
        })
        .boxed()
}

fn waiting(machine: &Machine) -> BoxedStrategy<Operation> {
    const STATUSES: &[TaskStatus] = &[
        TaskStatus::Pending,
        TaskStatus::Pending,
        TaskStatus::Pending,
        TaskStatus::Failure,
        TaskStatus::Success,
    ];
    pass(machine, STATUSES).prop_map(Operation::Waiting).boxed()
}

fn leases(machine: &Machine) -> BoxedStrategy<Operation> {
    pass(machine, &[TaskStatus::Taken])
        .prop_map(Operation::Leases)
        .boxed()
}
