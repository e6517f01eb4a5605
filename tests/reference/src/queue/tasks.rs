//! Table rows for create, take and quarantine, puts by direct writers, and adoption.

use lifo_queue::store::memory::Record;
use lifo_queue::store::{Candidate, Conflict, Inserted, TakeOutcome, TakeRequest};
use lifo_queue::task::{Lease, LeaseToken, NewTask, TakenTask, Task, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::{ReferenceQueue, done, is_expired, kept, lost};
use crate::answer::Answer;
use crate::draw::{
    Drawn, LEASE, LIFE, around, deadline, foreign_ttl, free, id, ids, moment, new_task, reason,
    weight,
};
use crate::machine::Machine;
use crate::operation::{Operation, Rule};

/// Time from a take to the `ttl` that it sets, in seconds.
const TAKEN_TTL: i64 = 86_400;

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTask {
    pub id: TaskId,
    pub created: Millis,
    /// The task's deadline, which may be missing or malformed.
    pub ttl: Ttl,
}

impl ForeignTask {
    pub fn record(&self) -> Record {
        Record::pending(self.created, self.ttl)
    }
}

impl ReferenceQueue {
    /// – → PENDING, create: requires a new `taskId`, or a task with the writer's create token.
    pub(super) fn insert(&mut self, task: &NewTask) -> (Answer, Rule) {
        if let Some(keyed) = &task.keyed {
            return self.state(task, keyed);
        }
        match self.tasks.get(&task.id) {
            None => {
                let bare = ForeignTask {
                    id: task.id.clone(),
                    created: task.created,
                    ttl: Ttl::Seconds(task.expires_at),
                };
                let record = Record {
                    not_before: task.not_before,
                    payload: task.payload.clone(),
                    create_token: Some(task.create_token),
                    trace: task.trace.clone(),
                    ..bare.record()
                };
                self.tasks.insert(task.id.clone(), record);
                (Answer::Inserted(Inserted::Created), Rule::Create)
            }
            Some(there) if there.create_token == Some(task.create_token) => {
                (Answer::Inserted(Inserted::Created), Rule::CreateRepeated)
            }
            Some(there) if there.version.is_some() => (
                Answer::Inserted(Inserted::Conflict(Conflict::IsAKey)),
                Rule::CreateIsAKey,
            ),
            Some(_) => (Answer::Inserted(Inserted::Duplicate), Rule::CreateDuplicate),
        }
    }

    /// – → PENDING by a direct writer, with `taskId`, `taskStatus`, `taskCreated` and any `ttl`.
    pub(super) fn foreign(&mut self, task: &ForeignTask) -> (Answer, Rule) {
        if self.tasks.contains_key(&task.id) {
            let duplicate = Answer::Inserted(Inserted::Duplicate);
            return (duplicate, Rule::ForeignDuplicate);
        }
        self.tasks.insert(task.id.clone(), task.record());
        (Answer::Inserted(Inserted::Created), Rule::Foreign)
    }

    /// Replaces a missing `ttl` with the default and corrects a `ttl` in milliseconds, if the
    /// deadline is still of the kind that was read.
    pub(super) fn adopt_ttl(
        &mut self,
        id: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> (Answer, Rule) {
        if matches!(seen, Ttl::Seconds(_) | Ttl::Malformed) {
            return lost(Rule::AdoptNothing);
        }
        let waits = |task: &&mut Record| task.status == TaskStatus::Pending;
        let Some(task) = self.tasks.get_mut(id).filter(waits) else {
            return lost(Rule::AdoptNotPending);
        };
        let rule = match (seen, task.ttl) {
            (Ttl::Missing, Ttl::Missing) => Rule::AdoptMissing,
            (Ttl::Milliseconds(_), Ttl::Milliseconds(_)) => Rule::AdoptMilliseconds,
            _ => return lost(Rule::AdoptChanged),
        };
        task.ttl = Ttl::Seconds(ttl);
        done(rule)
    }

    /// PENDING → TAKEN, take: requires a PENDING task that is due and has not expired. Adds an
    /// attempt and a lease. The take is lost if the kind of deadline differs from the one that the
    /// index showed. A deadline in milliseconds is corrected to the value that the index showed.
    pub(super) fn take(&mut self, request: &TakeRequest) -> (Answer, Rule) {
        let rejected = |rule| (Answer::Taken(TakeOutcome::Lost), rule);
        if request.candidate.ttl == Ttl::Malformed {
            let reason = String::new();
            let rejected = Answer::Taken(TakeOutcome::Rejected { reason });
            return (rejected, Rule::TakeMalformed);
        }
        let Some(task) = self.tasks.get_mut(&request.candidate.id) else {
            return rejected(Rule::TakeGone);
        };
        if task.status == TaskStatus::Taken && task.lease_token == Some(request.token) {
            return (won(task, request), Rule::TakeRepeated);
        }
        if task.status != TaskStatus::Pending {
            return rejected(Rule::TakeNotPending);
        }
        if task.lease_token == Some(request.token) {
            return rejected(Rule::TakeSpent);
        }
        if task.not_before.is_some_and(|at| at > request.now) {
            return rejected(Rule::TakeTooEarly);
        }
        if is_expired(task.ttl, request.now) {
            return rejected(Rule::TakeExpired);
        }
        let (deadline, rule) = match (request.candidate.ttl, task.ttl) {
            (Ttl::Missing, Ttl::Missing) => (request.default_deadline, Rule::TakeWithoutTtl),
            (Ttl::Seconds(_), Ttl::Seconds(at)) => (at, Rule::Take),
            (Ttl::Milliseconds(seen), Ttl::Milliseconds(_)) => {
                (EpochSeconds(seen.0 / 1000), Rule::TakeMilliseconds)
            }
            _ => return rejected(Rule::TakeTtlChanged),
        };
        task.status = TaskStatus::Taken;
        task.attempts += 1;
        task.total_attempts += 1;
        task.lease_token = Some(request.token);
        task.lease_until = Some(request.lease_until);
        task.not_before = None;
        task.alone = request.alone;
        task.lease_expired = false;
        task.revived = None;
        task.expires_at = Some(deadline);
        task.ttl = Ttl::Seconds(request.taken_ttl);
        (won(task, request), rule)
    }

    /// PENDING → FAILURE, quarantine: requires a PENDING task with the age and the deadline that
    /// the index showed. Removes the token.
    pub(super) fn quarantine(
        &mut self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        _now: Millis,
    ) -> (Answer, Rule) {
        let Some(task) = self.tasks.get_mut(&seen.id) else {
            return lost(Rule::QuarantineGone);
        };
        if task.status != TaskStatus::Pending {
            return lost(Rule::QuarantineNotPending);
        }
        if task.created != seen.created || task.ttl != seen.ttl {
            return lost(Rule::QuarantineChanged);
        }
        task.status = TaskStatus::Failure;
        task.ttl = Ttl::Seconds(keep_until);
        task.last_error = Some(kept(reason));
        task.lease_token = None;
        task.lease_expired = false;
        task.not_before = None;
        done(Rule::Quarantine)
    }
}

fn won(task: &Record, request: &TakeRequest) -> Answer {
    let id = request.candidate.id.clone();
    Answer::Taken(TakeOutcome::Won(Box::new(TakenTask {
        task: Task {
            task_id: id.clone(),
            version: task.version.clone(),
            // A key that keeps its position has a separate creation time for its state.
            task_created: task.state_created.unwrap_or(task.created),
            attempt: task.attempts,
            total_attempts: task.total_attempts,
            expires_at: task.expires_at.unwrap_or_default(),
            payload: task.payload.clone().unwrap_or_default(),
        },
        lease: Lease {
            task: id,
            token: request.token,
            // A repeated take has the lease of the first take.
            until: task.lease_until.unwrap_or(request.lease_until),
        },
        trace: task.trace.clone(),
    })))
}

pub(crate) fn drawn(machine: &Machine) -> Drawn {
    let fits = |usual| if free(machine).is_empty() { 1 } else { usual };
    let pending = |usual| weight(machine, usual, |task| task.status == TaskStatus::Pending);
    vec![
        (fits(6), insert(machine)),
        (fits(5), foreign(machine)),
        (pending(13), take(machine)),
        (pending(3), quarantine(machine)),
        (pending(4), adopt(machine)),
    ]
}

/// Draws a task from freshq's own writers, with an unused or a used id, or a repeated put.
fn insert(machine: &Machine) -> BoxedStrategy<Operation> {
    let unused = id(machine, free(machine));
    let fresh = new_task(machine, unused).prop_map(Operation::Insert);
    if machine.inserts.is_empty() {
        return fresh.boxed();
    }
    let again = select(machine.inserts.clone()).prop_map(Operation::Insert);
    prop_oneof![5 => fresh, 2 => again].boxed()
}

fn foreign(machine: &Machine) -> BoxedStrategy<Operation> {
    let parts = (
        id(machine, free(machine)),
        around(machine, -5..1),
        foreign_ttl(machine),
    );
    parts
        .prop_map(|(id, created, ttl)| Operation::Foreign(ForeignTask { id, created, ttl }))
        .boxed()
}

/// Draws an adoption after a read of the current deadline, or of an outdated one.
fn adopt(machine: &Machine) -> BoxedStrategy<Operation> {
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

/// Draws the index entry of a task. The deadline is sometimes outdated.
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

/// Draws a take with a new token or a repeated take.
fn take(machine: &Machine) -> BoxedStrategy<Operation> {
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
    // Mostly one of the last two takes, as in a real retry.
    let latest: Vec<_> = machine.takes.iter().rev().take(2).cloned().collect();
    let again = prop_oneof![4 => select(latest), 1 => select(machine.takes.clone())];
    prop_oneof![9 => fresh, 2 => again.prop_map(Operation::Take)].boxed()
}

/// Draws a quarantine, mostly of a pending task as indexed. The entry is sometimes outdated.
fn quarantine(machine: &Machine) -> BoxedStrategy<Operation> {
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
