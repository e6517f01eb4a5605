//! Where tasks and the control item live.
//!
//! Two traits, two implementations, one conformance suite (`tests/conformance`):
//! [`dynamodb`] is the real one, [`memory`] is for tests and simulations. Every method is one
//! atomic step. Losing a race is a value ([`Written::Lost`], [`TakeOutcome::Lost`]); a
//! [`StoreError`] means that the step may or may not have happened.

pub mod dynamodb;
pub mod memory;
mod operator;
mod page;

use async_trait::async_trait;
pub use aws::store_error::{Source, StoreError};

use crate::control::{Acquired, Claim, Control, Pause, Release, Released, Renewal, Renewed};
use crate::task::{
    GiveBack, Lease, LeaseToken, NewTask, Reclaim, Retention, Settlement, TakenTask, TaskId, Ttl,
};
use crate::time::{EpochSeconds, Millis};

pub use self::operator::{Cancelled, OperatorStore, Redrive, Redriven};
pub(crate) use self::page::parse_number;
pub use self::page::{
    Candidate, Cursor, InvalidCursor, Order, Page, PageQuery, StandingLease, TakenPage,
};

/// Everything the queue needs of a store.
pub trait QueueStore: TaskStore + ControlStore + OperatorStore {}

impl<S: TaskStore + ControlStore + OperatorStore> QueueStore for S {}

/// Tasks: each method is one transition of the state machine in [`task`](crate::task).
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// – → PENDING, if no task has this id. A put of ours whose acknowledgement was lost is
    /// recognised by its create token and answered [`Inserted::Created`].
    ///
    /// A task with a key replaces an older state of it: payload, deadline and version. One that
    /// waits starts with no attempts, but keeps its `notBefore` and the mark of an expired lease;
    /// one that was settled is PENDING again; one that runs is PENDING when its run ends.
    async fn insert(&self, task: &NewTask) -> Result<Inserted, StoreError>;

    /// One page of the index. Expired tasks are left out if DynamoDB will delete them: those whose
    /// `ttl` is in seconds and no more than five years ago. The page may be stale by the index's
    /// lag.
    async fn pending_page(&self, query: &PageQuery) -> Result<Page, StoreError>;

    /// PENDING → TAKEN, if still PENDING, due and not expired. One attempt more, a new lease.
    /// What the index showed of `ttl` decides how the deadline is kept: in seconds as it stands
    /// by now, in milliseconds as it was shown; if it is of another kind by now, the take is
    /// lost. A take of ours whose acknowledgement was lost is recognised by its token; the lease
    /// then ends when that take said, not when this repetition says. One that arrives after the
    /// end of its own lease is lost: its holder might settle what has not run.
    async fn take(&self, request: &TakeRequest) -> Result<TakeOutcome, StoreError>;

    /// TAKEN → SUCCESS or FAILURE, by the lease's token. The token stays, so that a lost
    /// acknowledgement is recognised: our token *and* our target status.
    ///
    /// To PENDING instead, with no attempts, if a newer state of its key came while it ran
    /// ([`Written::Overtaken`]); so do [`give_back`](Self::give_back) and
    /// [`reclaim`](Self::reclaim).
    async fn settle(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        retention: &Retention,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// TAKEN → PENDING, by the lease's token; the task's own deadline becomes its `ttl` again.
    /// Keeps the mark of a task whose lease expired before ([`GiveBack::lease_ran_out`]).
    async fn give_back(
        &self,
        lease: &Lease,
        give_back: &GiveBack,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// One page of the index under TAKEN, newest first; it may be stale by the index's lag.
    async fn taken_page(&self, query: &PageQuery) -> Result<TakenPage, StoreError>;

    /// TAKEN → PENDING or FAILURE, if this very lease is unchanged and expired before `now`;
    /// to FAILURE only if the task ran alone ([`TakeRequest::alone`]).
    async fn reclaim(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// PENDING → FAILURE, for a task whose take is rejected because of the item itself, so that
    /// it never blocks the head of the queue. With `seen`, only while the item has this `ttl`.
    async fn quarantine(
        &self,
        task: &TaskId,
        seen: Option<EpochSeconds>,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// Gives a foreign writer's PENDING task a `ttl` that DynamoDB can act on, if the
    /// current one is still of the kind that was `seen`: missing, or in milliseconds. Without it
    /// DynamoDB would never delete such a task.
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
    /// Rule 1: one more wake-up requested; the item as it is afterwards.
    async fn request(&self) -> Result<Control, StoreError>;

    /// Rule 9: marks that `event` is about to notify, unless a live lease or another event's
    /// live mark is there.
    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError>;

    /// The item as it is, strongly consistent.
    async fn control(&self) -> Result<Control, StoreError>;

    /// Rule 2: the processor lease, if it is free, has expired or is already the claim's, and
    /// the queue is not paused. Clears rule 9's mark.
    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError>;

    /// Rule 2: a longer lease, if its owner still has it; and the state of the circuit breaker.
    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError>;

    /// Rules 5 and 6: gives the lease up.
    async fn release(&self, release: &Release) -> Result<Released, StoreError>;

    /// No task starts before the pause is over; never shortens a pause.
    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError>;
}

/// The answer to an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The task is there, and this put made it. A put that is recognised after its
    /// acknowledgement was lost is answered so too, whatever it replaced.
    Created,
    /// The key's older state is replaced.
    Replaced(Replaced),
    /// A task with this id was there before, in this very state; it is unchanged.
    Duplicate,
    /// A newer state of the key is there; it is unchanged.
    Outdated,
    /// The id is there and cannot be compared with; it is unchanged.
    Conflict(Conflict),
}

/// What a newer state replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// A state that waited: it is superseded.
    Waiting,
    /// A state that waited and had expired: it is shed.
    Expired,
    /// A state that was settled.
    Settled,
    /// None: the older state runs, and the new one waits for the end of the run.
    Running,
}

/// Why a task's id cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// A key, and a task without one is there.
    #[error("is the taskId of a task without a key; choose another key")]
    NotAKey,
    /// A task without a key, and a key is there.
    #[error("is a key; choose another taskId, or give it as key")]
    IsAKey,
    /// One of the two states has a sequence and the other has none.
    #[error(
        "is ordered by sequence in one task and not in another; give a sequence always or never"
    )]
    OtherOrder,
}

/// The answer to a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The item is now as asked, by this very call.
    Done,
    /// The end of a run: by this very call the run is over, but a newer state of the key came
    /// while it lasted, so the task is PENDING with that.
    Overtaken,
    /// Another was faster: the item is in another state, and unchanged by this call.
    Lost,
}

/// A wish to take one task.
#[derive(Clone, Debug, PartialEq)]
pub struct TakeRequest {
    /// What the index said of it.
    pub candidate: Candidate,
    /// A fresh token.
    pub token: LeaseToken,
    /// Until when the lease is wanted.
    pub lease_until: Millis,
    /// `ttl` while TAKEN: past `lease_until`, so that DynamoDB never deletes running work.
    pub taken_ttl: EpochSeconds,
    /// The deadline of a task that has none.
    pub default_deadline: EpochSeconds,
    /// Whether it will run without neighbours.
    pub alone: bool,
    /// Now.
    pub now: Millis,
}

/// The answer to a take.
#[derive(Clone, Debug, PartialEq)]
pub enum TakeOutcome {
    /// The task is ours until the lease expires. Boxed, because it carries the payload.
    Won(Box<TakenTask>),
    /// Another was faster, or the task is gone, not due or expired.
    Lost,
    /// TAKEN by this call, but no runner can read it: settle it as FAILURE.
    Unreadable {
        /// The lease to settle it by.
        lease: Lease,
        /// What cannot be read.
        reason: String,
    },
    /// Rejected because of the item itself: quarantine it.
    Rejected {
        /// What DynamoDB or the codec said.
        reason: String,
    },
}
