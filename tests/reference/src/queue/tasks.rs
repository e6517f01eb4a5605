//! Rows of the table: create, take and quarantine; also puts of direct writers, and adoption.

use lifo_queue::store::memory::Record;
use lifo_queue::store::{Candidate, Conflict, Inserted, TakeOutcome, TakeRequest};
use lifo_queue::task::{Lease, NewTask, TakenTask, Task, TaskId, TaskStatus, Ttl};
use lifo_queue::time::EpochSeconds;

use super::{ReferenceQueue, done, is_expired, kept, lost};
use crate::operation::{Answer, ForeignTask};
use crate::rule::Rule;

impl ReferenceQueue {
    /// – → PENDING, create: no such `taskId`, or our own create token.
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

    /// PENDING → TAKEN, take: still PENDING, not expired, `notBefore` passed; attempt + 1, new
    /// lease. The take expects the kind of deadline that the index showed, and is lost if it
    /// changed. A deadline in milliseconds is corrected to the value that the index showed.
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

    /// PENDING → FAILURE, quarantine: still PENDING, with the age and the deadline that the index
    /// showed. The token is removed.
    pub(super) fn quarantine(
        &mut self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
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

    /// A missing `ttl` becomes the default, and one in milliseconds is corrected, if the deadline
    /// is still of the kind that was read.
    pub(super) fn adopt(&mut self, id: &TaskId, seen: Ttl, ttl: EpochSeconds) -> (Answer, Rule) {
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
}

fn won(task: &Record, request: &TakeRequest) -> Answer {
    let id = request.candidate.id.clone();
    Answer::Taken(TakeOutcome::Won(Box::new(TakenTask {
        task: Task {
            task_id: id.clone(),
            version: task.version.clone(),
            // A key that keeps its place has a separate creation time of its state.
            task_created: task.state_created.unwrap_or(task.created),
            attempt: task.attempts,
            total_attempts: task.total_attempts,
            expires_at: task.expires_at.unwrap_or_default(),
            payload: task.payload.clone().unwrap_or_default(),
        },
        lease: Lease {
            task: id,
            token: request.token,
            // A repeated take has the lease of the first one.
            until: task.lease_until.unwrap_or(request.lease_until),
        },
        trace: task.trace.clone(),
    })))
}
