//! Operators' operations on tasks and on the queue.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::StoreError;
use crate::control::{BreakerHold, OperatorLimits};
use crate::task::{TaskId, TaskStatus};
use crate::time::{EpochSeconds, Millis};

/// The operators' transitions. Each is one atomic step, except [`redrive`](Self::redrive), which
/// first widens the bound on the index's sort key.
#[async_trait]
pub trait OperatorStore: Send + Sync {
    /// FAILURE → PENDING, with attempts reset to 0, a new expiry and no lease. The task keeps its
    /// `taskCreated`. The control item stores that time *before* the task becomes PENDING, so that
    /// no processor's bound on the sort key hides the task. The caller requests a wake-up.
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError>;

    /// Reads all attributes of a task with strong consistency, by their names in the table; `None`
    /// if the task does not exist.
    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError>;

    /// Deletes a PENDING, SUCCESS or FAILURE task in this state, never a TAKEN one.
    async fn purge(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError>;

    /// Deletes a PENDING task in this state.
    async fn cancel(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError>;

    /// Ends any pause. Also deletes the start marker (rule 9): the pause may have dropped its
    /// notification, so the marker must not block the next wake-up. The caller requests a wake-up.
    async fn resume(&self) -> Result<(), StoreError>;

    /// Opens the circuit breaker, or keeps it open, until the time in `hold`. Replaces an earlier
    /// hold. A processor applies it with its next lease renewal.
    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError>;

    /// Closes the circuit breaker, whether an operator or a processor opened it. A processor
    /// applies it with its next lease renewal. The caller requests a wake-up.
    async fn close_breaker(&self) -> Result<(), StoreError>;

    /// Replaces the operators' limits on starts. A processor applies them with its next lease
    /// renewal.
    async fn limit(&self, limits: &OperatorLimits) -> Result<(), StoreError>;
}

/// The state of a task that a command may change: the one that its operator saw. A newer state of
/// the task's key and a new task with the same id stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// Any state, because the operator named the task by its id.
    #[default]
    Any,
    /// The state that this `createToken` put.
    Put(String),
    /// The state with this `taskCreated`, rounded down. Does not distinguish two states of a key
    /// that keeps its position in the queue.
    Created(Millis),
}

/// A request to redrive a failed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    pub task: TaskId,
    pub state: Seen,
    /// Its new expiry.
    pub expires_at: EpochSeconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// The task is PENDING again.
    Done,
    /// The task has this different status and is unchanged.
    Is(TaskStatus),
    /// The task has another state than the one in the request and is unchanged.
    Replaced,
    /// The task does not exist.
    NotFound,
}

/// The result of a cancellation or a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The task was deleted.
    Done,
    /// The task has this different status and is unchanged.
    Is(TaskStatus),
    /// The task has another state than the one in the request and is unchanged.
    Replaced,
    /// The task does not exist. An earlier attempt of this call whose acknowledgement was lost may
    /// have deleted it.
    NotFound,
}
