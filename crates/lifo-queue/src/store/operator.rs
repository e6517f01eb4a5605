//! Operations of operators on tasks and on the queue.

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
    /// FAILURE → PENDING: attempts from 0, a new expiry, no lease. The task keeps its
    /// `taskCreated`. The control item stores that time *before* the task becomes PENDING, so that
    /// no processor's bound on the sort key hides the task. The caller requests a wake-up.
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError>;

    /// All attributes of a task by their names in the table, strongly consistent; `None` if there
    /// is no such task.
    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError>;

    /// Deletes a PENDING, SUCCESS or FAILURE task, never a TAKEN one.
    async fn purge(&self, task: &TaskId) -> Result<Cancelled, StoreError>;

    /// Deletes a PENDING task.
    async fn cancel(&self, task: &TaskId) -> Result<Cancelled, StoreError>;

    /// Ends any pause. Deletes the start marker too (rule 9): the pause may have dropped its
    /// notification, so it must not block the next wake-up. The caller requests a wake-up.
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

/// A request to redrive a failed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    pub task: TaskId,
    /// Its new expiry.
    pub expires_at: EpochSeconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// The task is PENDING again.
    Done,
    /// The task has this other status, and is unchanged.
    Is(TaskStatus),
    /// There is no such task.
    NotFound,
}

/// The result of a cancellation or a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The task is deleted.
    Done,
    /// The task has this other status, and is unchanged.
    Is(TaskStatus),
    /// There is no such task. An earlier attempt of this call may have deleted it, if its
    /// acknowledgement was lost.
    NotFound,
}
