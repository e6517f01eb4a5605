//! Stores of tasks and of the control item.
//!
//! There are two implementations, and one conformance suite for both (`tests/conformance`):
//! [`dynamodb`] for production, [`memory`] for tests and simulations. Every method is one atomic
//! step. A lost race is a value ([`Written::Lost`], [`TakeOutcome::Lost`]). A [`StoreError`] means
//! that the step may or may not have happened.

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
pub use self::operator::{Cancelled, OperatorStore, Redrive, Redriven};
pub(crate) use self::page::parse_number;
pub use self::page::{
    Candidate, Cursor, InvalidCursor, Order, Page, PageQuery, StandingLease, TakenPage,
};

/// All operations that the queue needs.
pub trait QueueStore: TaskStore + ControlStore + OperatorStore + GroupStore {}

impl<S: TaskStore + ControlStore + OperatorStore + GroupStore> QueueStore for S {}

/// Tasks: each method is one transition of the state machine in [`task`](crate::task).
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// – → PENDING, if no task has this id. If the acknowledgement of an earlier try was lost, the
    /// store recognises the create token and returns [`Inserted::Created`].
    ///
    /// A task with a key replaces the payload, expiry and version of an older state. A key that is
    /// PENDING starts with no attempts, but keeps the mark of an expired lease, and its `notBefore`
    /// unless the new state has one. A settled key becomes PENDING. A running key becomes PENDING
    /// when its run ends.
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError>;

    /// One page of the index. It excludes expired tasks that DynamoDB will delete: those whose
    /// `ttl` is in seconds and at most five years ago. The page may be stale by the index's lag.
    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError>;

    /// PENDING → TAKEN, if still PENDING, due and not expired. Adds an attempt and creates a lease.
    ///
    /// The kind of `ttl` in the index decides which expiry the task keeps. In seconds: the item's
    /// current value. In milliseconds: the value in the index. Missing: the request's default. If
    /// the item's `ttl` is of another kind by now, the take is lost.
    ///
    /// If the acknowledgement of an earlier try was lost, the store recognises the token; the lease
    /// then has the earlier try's expiry. A try that arrives after its task was settled or returned
    /// is lost. Otherwise the former holder could settle a task that has not run.
    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError>;

    /// TAKEN → SUCCESS or FAILURE, by the lease's token. The item keeps the token. So after a lost
    /// acknowledgement a repetition recognises its own token *and* its target status.
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

    /// One page of the index under TAKEN, newest first; it may be stale by the index's lag.
    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError>;

    /// TAKEN → PENDING or FAILURE, if the task still has this lease and the lease has expired by
    /// `now`. To FAILURE only if the task ran alone ([`TakeRequest::alone`]). Counts a crash.
    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// PENDING → FAILURE, for a task that cannot be taken because its item is invalid. Otherwise it
    /// would block the head of the queue. Only while the item has the `taskCreated` and the `ttl`
    /// of `seen`, so that a newer state of a key or a corrected item does not fail.
    async fn quarantine(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// Sets the `ttl` of a direct writer's PENDING task to epoch seconds, if the current one is
    /// still of the kind that was `seen`: missing, or in milliseconds. Without this, DynamoDB would
    /// never delete the task.
    async fn adopt_ttl(
        &self,
        task: &TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    ) -> Result<Written, StoreError>;
}

/// The control item `#processor`: each method is one step of the protocol in
/// [`wake`](crate::wake).
#[async_trait]
pub trait ControlStore: Send + Sync {
    /// Rule 1: adds 1 to the number of requested wake-ups. Returns the item after this write.
    async fn request(&self) -> Result<Control, StoreError>;

    /// Rule 9: sets the start marker to `event` until `until`, unless there is a live lease or
    /// another event's live marker.
    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// Reads the item, strongly consistent.
    async fn control(&self) -> Result<Control, StoreError>;

    /// Rule 2: acquires the processor lease if it is free, has expired or already has the claim's
    /// owner, and the queue is not paused. Deletes the start marker of rule 9.
    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError>;

    /// Rule 2: extends the lease if its owner still has it. Also writes the state of the circuit
    /// breaker and of the overload.
    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError>;

    /// Rules 5 and 6: releases the lease.
    async fn release(&self, release: &Release) -> Result<Released, StoreError>;

    /// Pauses the queue. Never shortens a pause: with an equal or later end it is
    /// [`Written::Lost`].
    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// This put created the task. Also the result if the store recognises the put after a lost
    /// acknowledgement, even if the put replaced a state.
    Created,
    /// The put replaced the older state of the key.
    Replaced(Replaced),
    /// The task, or this state of the key, was in the table before; it is unchanged.
    Duplicate,
    /// A newer state of the key is in the table; it is unchanged.
    Outdated,
    /// The id cannot be used, for this reason; the task in the table is unchanged.
    Conflict(Conflict),
}

/// The older state that a newer one replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// A state that had not started: it is superseded.
    Waiting,
    /// A PENDING state that had expired: it is shed.
    Expired,
    /// A settled state.
    Settled,
    /// None: the older state is running, and the newer one follows at the end of the run.
    Running,
}

/// Why a task's id cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The new task has a key, but the id belongs to a task without a key.
    #[error("is the taskId of a task without a key; choose another key")]
    NotAKey,
    /// The new task has no key, but its id is a key.
    #[error("is a key; choose another taskId, or give it as key")]
    IsAKey,
    /// One of the two states has a sequence and the other has none.
    #[error(
        "is ordered by sequence in one task and not in another; give a sequence always or never"
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
    /// Another writer was faster. The item is in another state, and this call did not change it.
    Lost,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TakeRequest {
    /// The task, as the index shows it.
    pub candidate: Candidate,
    pub token: LeaseToken,
    /// Time at which the lease expires.
    pub lease_until: Millis,
    /// `ttl` while TAKEN. It is later than `lease_until`, so that DynamoDB does not delete a
    /// running task.
    pub taken_ttl: EpochSeconds,
    /// Expiry of a task without `ttl`.
    pub default_deadline: EpochSeconds,
    /// Whether no other task will run in the process.
    pub alone: bool,
    /// The current time.
    pub now: Millis,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TakeOutcome {
    /// The caller may run the task until the lease expires. Boxed, because it has the payload.
    Won(Box<TakenTask>),
    /// Another writer was faster, or the task was deleted, is not due or has expired.
    Lost,
    /// This call took the task, but its item cannot be read. The caller settles it as FAILURE.
    Unreadable {
        /// The lease for the settlement.
        lease: Lease,
        /// The attribute that cannot be read, and why.
        reason: String,
    },
    /// The item is invalid, so the task cannot be taken. The caller quarantines it.
    Rejected {
        /// The error of DynamoDB or of the check.
        reason: String,
    },
}
