//! Stores of tasks and of the control item.
//!
//! There are two implementations, [`dynamodb`] for production and [`memory`] for tests and
//! simulations, with one conformance suite for both (`tests/conformance`). Every method is one
//! atomic step. A lost race is a value ([`Written::Lost`], [`TakeOutcome::Lost`]). A [`StoreError`]
//! means that the step may or may not have happened.

mod admission;
pub mod dynamodb;
mod groups;
pub mod memory;
mod operator;
mod page;

use async_trait::async_trait;
pub use aws::store_error::{Source, StoreError};

use crate::control::{Acquired, Claim, Control, Pause, Release, Released, Renewal, Renewed};
use crate::task::{
    Lease, LeaseToken, NewTask, Reclaim, Retention, Return, Settlement, TakenTask, TaskId, Ttl,
};
use crate::time::{EpochSeconds, Millis};

pub use self::admission::{AdmissionStore, Counts, Mark, Meter};
pub use self::groups::GroupStore;
pub use self::operator::{Cancelled, OperatorStore, Redrive, Redriven, Seen};
pub(crate) use self::page::parse_number;
pub use self::page::{
    Candidate, Cursor, InvalidCursor, Order, Page, PageQuery, StandingLease, TakenPage,
};

/// All operations that the queue needs.
pub trait QueueStore: TaskStore + ControlStore + OperatorStore + GroupStore {}

impl<S: TaskStore + ControlStore + OperatorStore + GroupStore> QueueStore for S {}

/// Stores tasks. Each method is one transition of the state machine in [`task`](crate::task).
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// – → PENDING, if no task has this id. If the acknowledgement of an earlier try was lost, the
    /// store recognizes the create token and returns [`Inserted::Created`].
    ///
    /// A task with a key replaces the payload, expiry and version of an older state. A PENDING key
    /// starts with no attempts, but keeps the mark of an expired lease. It also keeps its
    /// `notBefore` unless the new state has one. A settled key becomes PENDING. A running key
    /// becomes PENDING when its run ends.
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError>;

    /// Reads one index page, without expired tasks that DynamoDB will delete: those whose `ttl` is
    /// in seconds and at most five years in the past. The page may be stale by the index lag.
    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError>;

    /// PENDING → TAKEN, if still PENDING, due and not expired. Adds an attempt and creates a lease.
    ///
    /// The unit of `ttl` in the index determines the expiry that the task keeps: for seconds the
    /// item's current value, for milliseconds the value in the index, and without `ttl` the
    /// request's default. If the item's `ttl` has changed to a different kind, the take is lost.
    ///
    /// If the acknowledgement of an earlier try was lost, the store recognizes the token, and the
    /// lease has the earlier try's expiry. A try that arrives after its task was settled or
    /// returned is lost. Otherwise, the previous holder could settle a task that has not run.
    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError>;

    /// TAKEN → SUCCESS or FAILURE, by the lease's token. The item keeps the token, so that after a
    /// lost acknowledgement, a retry recognizes its own token *and* its target status.
    ///
    /// If a newer state of the key was written during the run, the task becomes PENDING with no
    /// attempts instead ([`Written::Overtaken`]). The same holds for
    /// [`return_task`](Self::return_task) and [`reclaim`](Self::reclaim).
    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// TAKEN → PENDING, by the lease's token. The task's expiry becomes its `ttl` again. Keeps the
    /// mark of a task whose lease expired before ([`Return::lease_expired`]).
    async fn return_task(
        &self,
        lease: &Lease,
        returned: &Return,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// One index page of TAKEN tasks, newest first. The page may be stale by the index lag.
    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError>;

    /// TAKEN → PENDING or FAILURE, if the task still has this lease and the lease has expired by `now`.
    /// Changes to FAILURE only if the task ran alone ([`TakeRequest::alone`]). Counts a crash.
    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// PENDING → FAILURE, for a task that can't be taken because its item is invalid. Otherwise, it
    /// would block the head of the queue. Applies only while the item has the `taskCreated` and the
    /// `ttl` of `seen`, so that a newer state of a key or a corrected item does not fail.
    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// Sets the `ttl` of a direct writer's PENDING task to epoch seconds, if the current `ttl` is
    /// still of the same kind as `seen`: missing or in milliseconds. Without this change, DynamoDB
    /// would never delete the task.
    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError>;
}

/// Stores the control item `#processor`. Each method is one step of the protocol in
/// [`wake`](crate::wake).
#[async_trait]
pub trait ControlStore: Send + Sync {
    /// Rule 1: adds 1 to the number of requested wake-ups. Returns the updated item.
    async fn request(&self) -> Result<Control, StoreError>;

    /// Rule 9: sets the start marker to `event` until `until`, unless there is a live lease or a
    /// live marker of another event.
    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// Reads the item with strong consistency.
    async fn control(&self) -> Result<Control, StoreError>;

    /// Rule 2: acquires the processor lease if it is free, has expired or already has the claim's
    /// owner, and the queue is not paused. Deletes the start marker of rule 9.
    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError>;

    /// Rule 2: extends the lease if its owner still has it. Also writes the state of the circuit
    /// breaker and of the overload.
    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError>;

    /// Rules 5 and 6: releases the lease.
    async fn release(&self, release: &Release) -> Result<Released, StoreError>;

    /// Pauses the queue. Never shortens a pause: if the current pause has an equal or later end,
    /// returns [`Written::Lost`].
    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// This put created the task. Also the result if the store recognizes the put after a lost
    /// acknowledgement, even if the put replaced a state.
    Created,
    /// The put replaced the older state of the key.
    Replaced(Replaced),
    /// The task, or this state of the key, was already in the table and is unchanged.
    Duplicate,
    /// A newer state of the key is in the table and is unchanged.
    Outdated,
    /// The id can't be used, for this reason. The task in the table is unchanged.
    Conflict(Conflict),
}

/// Kind of the older state that a put replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// A state that had not started and is superseded.
    Waiting,
    /// A PENDING state that had expired and is shed.
    Expired,
    /// A settled state.
    Settled,
    /// None, because the older state is running. The newer state follows at the end of the run.
    Running,
}

/// Why a task's id can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The new task has a key, but the id belongs to a task without a key.
    #[error("is the taskId of a task without a key; choose another key")]
    NotAKey,
    /// The new task has no key, but its id is a key.
    #[error("is a key; choose another taskId, or pass it as key")]
    IsAKey,
    /// Only one of the two states has a sequence.
    #[error(
        "has a sequence in one task but not in another; give every task of the key a sequence, or none"
    )]
    OtherOrder,
}

/// The result of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// This call changed the item as requested.
    Done,
    /// This call ended the run. A newer state of the key was written during the run, so the task
    /// is PENDING with that state, or FAILURE after [`Reclaim::FailCrashing`].
    Overtaken,
    /// Another writer was faster. The item is in a different state, and this call did not change it.
    Lost,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TakeRequest {
    /// The task, as the index shows it.
    pub candidate: Candidate,
    pub token: LeaseToken,
    /// Time at which the lease expires.
    pub lease_until: Millis,
    /// The task's `ttl` while it is TAKEN. It is later than `lease_until`, so that DynamoDB does
    /// not delete a running task.
    pub taken_ttl: EpochSeconds,
    /// Expiry of a task without `ttl`.
    pub default_deadline: EpochSeconds,
    /// Whether the task will run alone in its process.
    pub alone: bool,
    /// The current time.
    pub now: Millis,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TakeOutcome {
    /// The caller may run the task until the lease expires. Boxed, because it contains the payload.
    Won(Box<TakenTask>),
    /// Another writer was faster, or the task was deleted, is not due or has expired.
    Lost,
    /// This call took the task, but its item can't be read. The caller settles it as FAILURE.
    Unreadable {
        /// The lease that settles the task.
        lease: Lease,
        /// The unreadable attribute and the cause.
        reason: String,
    },
    /// The item is invalid, so the task can't be taken. The caller quarantines it.
    Rejected {
        /// The error from DynamoDB or from the check.
        reason: String,
    },
}
