//! An in-memory store for tests, simulations and models. The conformance suite checks that it gives
//! the same guarantees as the DynamoDB store. Its index is never stale.
//!
//! The reference queue in `tests/reference` is the oracle: it repeats these transitions, because it
//! follows the documentation and must find errors in both stores. This store does not use the
//! reference's transitions, because then the fault schedules would run on the oracle itself, and
//! only the slower comparison with the DynamoDB store would check it.

mod admission;
mod control;
mod groups;
mod index;
mod keyed;
mod operator;
mod record;

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use self::index::Tasks;
pub use self::record::Record;
use super::{
    Candidate, Conflict, Inserted, Meter, Page, PageQuery, StandingLease, StoreError, TakeOutcome,
    TakeRequest, TakenPage, TaskStore, Written,
};
use crate::control::{Control, GroupStates};
use crate::task::{
    Counts, Lease, NewTask, Reclaim, Retention, Return, Settlement, TakenTask, Task, TaskId,
    TaskStatus, Ttl, truncate_error,
};
use crate::time::{EpochSeconds, Millis};

/// The in-memory store.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tasks: Tasks,
    control: Control,
    meter: Meter,
    groups: GroupStates,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of a task; `None` if the task does not exist.
    #[must_use]
    pub fn record(&self, task: &TaskId) -> Option<Record> {
        self.lock().tasks.get(task).cloned()
    }

    /// All tasks, ordered by id.
    #[must_use]
    pub fn records(&self) -> Vec<(TaskId, Record)> {
        self.lock()
            .tasks
            .iter()
            .map(|(id, record)| (id.clone(), record.clone()))
            .collect()
    }

    /// Writes a task without checks, as a direct writer could.
    pub fn put(&self, task: TaskId, record: Record) {
        self.lock().tasks.insert(task, record);
    }

    /// Deletes a task as DynamoDB's time to live would, regardless of its state.
    pub fn remove(&self, task: &TaskId) -> Option<Record> {
        self.lock().tasks.remove(task)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while holding the lock, so the state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a run with `target`, or with PENDING if a newer state was written during the run.
    fn end_run(
        &self,
        lease: &Lease,
        target: TaskStatus,
        change: impl FnOnce(&mut Record, bool),
    ) -> Written {
        let mut state = self.lock();
        let Some(mut record) = state.tasks.get_mut(&lease.task) else {
            return Written::Lost;
        };
        if record.is_ours(TaskStatus::Taken, lease) {
            let overtaken = record.overtaken;
            change(&mut record, overtaken);
            record.leave(target);
            return match overtaken {
                true => Written::Overtaken,
                false => Written::Done,
            };
        }
        match record.version {
            _ if record.is_ours(target, lease) => Written::Done,
            Some(_) if record.is_ours(TaskStatus::Pending, lease) => Written::Overtaken,
            _ => Written::Lost,
        }
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError> {
        let mut state = self.lock();
        if let Some(mut there) = state.tasks.get_mut(&task.id) {
            return Ok(match &task.keyed {
                _ if there.create_token == Some(task.create_token) => Inserted::Created,
                Some(keyed) => there.replace_by(task, keyed),
                None if there.version.is_some() => Inserted::Conflict(Conflict::IsAKey),
                None => Inserted::Duplicate,
            });
        }
        let record = Record {
            version: task.keyed.as_ref().map(|keyed| keyed.version.clone()),
            state_created: task
                .keyed
                .as_ref()
                .and_then(|keyed| keyed.state_created(task)),
            not_before: task.not_before,
            payload: task.payload.clone(),
            create_token: Some(task.create_token),
            trace: task.trace.clone(),
            ..Record::pending(task.created, Ttl::Seconds(task.expires_at))
        };
        state.tasks.insert(task.id.clone(), record);
        Ok(Inserted::Created)
    }

    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError> {
        let (evaluated, next) = self.lock().tasks.page(query)?;
        let visible = evaluated
            .into_iter()
            .filter(|(_, record)| match record.ttl {
                Ttl::Seconds(_) if !record.ttl.is_never_deleted(query.now) => {
                    !record.ttl.is_expired(query.now)
                }
                _ => true,
            });
        let candidates = visible.map(|(id, record)| Candidate {
            id,
            created: record.created,
            ttl: record.ttl,
            not_before: record.not_before,
            attempts: record.attempts,
            lease_expired: record.lease_expired
                || record.attempts > 0 && record.lease_token.is_none(),
        });
        Ok(Page {
            candidates: candidates.collect(),
            next,
        })
    }

    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError> {
        let (evaluated, next) = self.lock().tasks.page(query)?;
        let leases = evaluated.into_iter().filter_map(|(task, record)| {
            let (token, until) = (record.lease_token?, record.lease_until?);
            let attempts = record.attempts;
            Some(StandingLease {
                lease: Lease { task, token, until },
                attempts,
            })
        });
        Ok(TakenPage {
            leases: leases.collect(),
            next,
        })
    }

    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError> {
        let mut lease = Lease {
            task: request.candidate.id.clone(),
            token: request.token,
            until: request.lease_until,
        };
        let seen = request.candidate.ttl;
        if seen == Ttl::Malformed {
            let reason = "ttl is not a number".to_owned();
            return Ok(TakeOutcome::Rejected { reason });
        }
        let mut state = self.lock();
        let Some(mut record) = state.tasks.get_mut(&lease.task) else {
            return Ok(TakeOutcome::Lost);
        };
        if !record.is_ours(TaskStatus::Taken, &lease) {
            // The token matches, but the task is not TAKEN: the take arrived after its lease ended.
            if !record.due(request.now) || record.lease_token == Some(lease.token) {
                return Ok(TakeOutcome::Lost);
            }
            // As on DynamoDB, an expiry in seconds comes from the item, and one in milliseconds
            // from the index. If the item's `ttl` is now of a different kind, the take is lost.
            let deadline = match (seen, record.ttl) {
                (Ttl::Missing, Ttl::Missing) => request.default_deadline,
                (Ttl::Seconds(_), Ttl::Seconds(at)) => at,
                (Ttl::Milliseconds(at), Ttl::Milliseconds(_)) => at.floor_seconds(),
                _ => return Ok(TakeOutcome::Lost),
            };
            record.status = TaskStatus::Taken;
            record.attempts += 1;
            record.total_attempts += 1;
            record.lease_token = Some(lease.token);
            record.lease_until = Some(lease.until);
            record.not_before = None;
            record.revived = None;
            record.alone = request.alone;
            record.lease_expired = false;
            record.expires_at = Some(deadline);
            record.ttl = Ttl::Seconds(request.taken_ttl);
        }
        // An earlier attempt may have set the lease's expiry. The sweep uses the record's value.
        lease.until = record.lease_until.unwrap_or(lease.until);
        let task = Task {
            task_id: lease.task.clone(),
            version: record.version.clone(),
            task_created: record.state_created.unwrap_or(record.created),
            attempt: record.attempts,
            total_attempts: record.total_attempts,
            expires_at: record.expires_at.unwrap_or(request.default_deadline),
            payload: record.payload.clone().unwrap_or_default(),
        };
        let trace = record.trace.clone();
        Ok(TakeOutcome::Won(Box::new(TakenTask { task, lease, trace })))
    }

    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let change = |record: &mut Record, overtaken: bool| {
            if !overtaken {
                let keep_until = now.ceil_seconds().plus(retention.after(settlement));
                record.expires_at = Some(keep_until);
                record.not_before = None;
            }
            record.crashes = 0;
            if let Settlement::Failure { reason } = settlement {
                record.last_error = Some(truncate_error(reason).to_owned());
            }
        };
        Ok(self.end_run(lease, settlement.status(), change))
    }

    async fn return_task(
        &self,
        lease: &Lease,
        returned: &Return,
        _now: Millis,
    ) -> Result<Written, StoreError> {
        let change = |record: &mut Record, overtaken: bool| {
            record.wait_until(returned.not_before);
            record.lease_expired = returned.lease_expired;
            record.last_error = Some(truncate_error(&returned.reason).to_owned());
            record.superseded += u32::from(overtaken);
            let (attempts, starts) = match returned.counts {
                Counts::Attempt => (0, 0),
                Counts::Start => (1, 0),
                Counts::Nothing => (1, 1),
            };
            record.attempts = record.attempts.saturating_sub(attempts);
            record.total_attempts = record.total_attempts.saturating_sub(starts);
        };
        Ok(self.end_run(lease, TaskStatus::Pending, change))
    }

    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let mut state = self.lock();
        let record = state.tasks.get_mut(&lease.task);
        Ok(record.map_or(Written::Lost, |mut record| {
            record.reclaim(lease, reclaim, now)
        }))
    }

    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        _now: Millis,
    ) -> Result<Written, StoreError> {
        let mut state = self.lock();
        let record = state
            .tasks
            .get_mut(&seen.id)
            .filter(|r| r.status == TaskStatus::Pending)
            .filter(|r| (r.created, r.ttl) == (seen.created, seen.ttl));
        let Some(mut record) = record else {
            return Ok(Written::Lost);
        };
        record.status = TaskStatus::Failure;
        record.ttl = Ttl::Seconds(keep_until);
        record.last_error = Some(truncate_error(reason).to_owned());
        record.lease_token = None;
        record.lease_expired = false;
        record.not_before = None;
        Ok(Written::Done)
    }

    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError> {
        let mut state = self.lock();
        let record = state
            .tasks
            .get_mut(task)
            .filter(|r| r.status == TaskStatus::Pending);
        let Some(mut record) = record else {
            return Ok(Written::Lost);
        };
        match (seen, record.ttl) {
            (Ttl::Missing, Ttl::Missing) | (Ttl::Milliseconds(_), Ttl::Milliseconds(_)) => {
                record.ttl = Ttl::Seconds(ttl);
                Ok(Written::Done)
            }
            _ => Ok(Written::Lost),
        }
    }
}
