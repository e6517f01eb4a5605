//! Layers on the task store.

use std::any::Any;

use async_trait::async_trait;
use futures::future::BoxFuture;
use lifo_queue::control::{
    Acquired, BreakerHold, Claim, Control, GroupChange, GroupChanged, GroupStates, LearnedGroups,
    OperatorLimits, Pause, Release, Released, Renewal, Renewed,
};
use lifo_queue::store::{
    Cancelled, Candidate, ControlStore, GroupStore, Inserted, OperatorStore, Page, PageQuery,
    QueueStore, Redrive, Redriven, Seen, StoreError, TakeOutcome, TakeRequest, TakenPage,
    TaskStore, Written,
};
use lifo_queue::task::{
    GroupName, Lease, NewTask, Reclaim, Retention, Return, Settlement, TaskId, Ttl,
};
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Call, layered};

/// A call to the task store.
pub type TaskCall<'a, T> = Call<About<'a>, dyn QueueStore, T>;

#[async_trait]
pub trait Layer: Send + Sync {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError>;
}

#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// A read of the control item or of the groups item.
    Nothing,
    Index(&'a PageQuery),
    Insert(&'a NewTask),
    Take(&'a TakeRequest),
    Task(&'a TaskId),
    Redrive(&'a TaskId),
    /// A claim of the processor lease.
    Acquire(&'a Claim),
    Renew(&'a Renewal),
    Control,
    /// A write of the groups item.
    Groups,
}

impl<'a> About<'a> {
    pub fn task(self) -> Option<&'a TaskId> {
        match self {
            Self::Insert(task) => Some(&task.id),
            Self::Take(request) => Some(&request.candidate.id),
            Self::Task(task) | Self::Redrive(task) => Some(task),
            _ => None,
        }
    }

    pub fn writes_control(self) -> bool {
        use About::{Acquire, Control, Redrive, Renew};
        matches!(self, Redrive(_) | Acquire(_) | Renew(_) | Control)
    }
}

layered! { QueueStore by Layer:
    TaskStore {
        insert(&task: NewTask) -> Inserted => About::Insert(task);
        pending_page(&query: PageQuery) -> Page => About::Index(query);
        take(&request: TakeRequest) -> TakeOutcome => About::Take(request);
        settle(&lease: Lease, &settlement: Settlement, &retention: Retention, now: Millis) -> Written
            => About::Task(&lease.task);
        return_task(&lease: Lease, &returned: Return, now: Millis) -> Written => About::Task(&lease.task);
        taken_page(&query: PageQuery) -> TakenPage => About::Index(query);
        reclaim(&lease: Lease, &reclaim: Reclaim, now: Millis) -> Written => About::Task(&lease.task);
        quarantine(&seen: Candidate, &reason: str, keep_until: EpochSeconds, now: Millis) -> Written
            => About::Task(&seen.id);
        adopt_ttl(&task: TaskId, seen: Ttl, ttl: EpochSeconds) -> Written => About::Task(task);
    }
    ControlStore {
        request() -> Control => About::Control;
        mark_notified(&event: str, until: Millis, now: Millis) -> Written => About::Control;
        control() -> Control => About::Nothing;
        acquire(&claim: Claim, now: Millis) -> Acquired => About::Acquire(claim);
        renew(&renewal: Renewal) -> Renewed => About::Renew(renewal);
        release(&release: Release) -> Released => About::Control;
        pause(&pause: Pause) -> Written => About::Control;
    }
    OperatorStore {
        redrive(&redrive: Redrive, now: Millis) -> Redriven => About::Redrive(&redrive.task);
        attributes(&task: TaskId) -> Option<Map<String, Value>> => About::Task(task);
        purge(&task: TaskId, &state: Seen) -> Cancelled => About::Task(task);
        cancel(&task: TaskId, &state: Seen) -> Cancelled => About::Task(task);
        resume() -> () => About::Control;
        hold_breaker(&hold: BreakerHold) -> () => About::Control;
        close_breaker() -> () => About::Control;
        limit(&limits: OperatorLimits) -> () => About::Control;
    }
    GroupStore {
        groups() -> GroupStates => About::Nothing;
        change_group(&group: GroupName, &change: GroupChange, now: Millis) -> GroupChanged => About::Groups;
        save_groups(&learned: LearnedGroups, by: Uuid, seen: Option<Uuid>) -> Written => About::Groups;
    }
}
