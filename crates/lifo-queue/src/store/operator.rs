//! What operators do to tasks and to the queue.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::StoreError;
use crate::control::BreakerHold;
use crate::task::{TaskId, TaskStatus};
use crate::time::{EpochSeconds, Millis};

/// The operators' transitions: each is one atomic step, but for [`redrive`](Self::redrive),
/// which widens the bound on the index's sort key first.
#[async_trait]
pub trait OperatorStore: Send + Sync {
    /// FAILURE → PENDING: attempts from 0, a new deadline, no lease. It keeps its `taskCreated`,
    /// and so its place in age. The control item remembers that age *before* the task is
    /// PENDING, so that no processor's bound on the sort key hides it. Who calls this wakes.
    async fn redrive(&self, redrive: &Redrive, now: Millis) -> Result<Redriven, StoreError>;

    /// All attributes of a task by their names in the table, strongly consistent; `None` if there
    /// is no such task.
    async fn attributes(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError>;

    /// PENDING, SUCCESS or FAILURE → gone. Never a TAKEN task.
    async fn purge(&self, task: &TaskId) -> Result<Cancelled, StoreError>;

    /// PENDING → gone.
    async fn cancel(&self, task: &TaskId) -> Result<Cancelled, StoreError>;

    /// Ends any pause. Clears rule 9's mark too: the pause may have dropped its notification, so
    /// it must not block the next wake-up. The caller wakes the queue.
    async fn resume(&self) -> Result<(), StoreError>;

    /// Opens the circuit breaker, or keeps it open, until the time of the hold. Replaces an earlier
    /// hold. A processor obeys with its next renewal.
    async fn hold_breaker(&self, hold: &BreakerHold) -> Result<(), StoreError>;

    /// Closes the circuit breaker, whether an operator or a processor opened it. A processor obeys
    /// with its next renewal. The caller wakes the queue.
    async fn close_breaker(&self) -> Result<(), StoreError>;
}

/// A wish to run a failed task again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    /// The task.
    pub task: TaskId,
    /// Its new deadline.
    pub expires_at: EpochSeconds,
}

/// The answer to a redrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// It is PENDING again.
    Done,
    /// It is in another state, and unchanged.
    Is(TaskStatus),
    /// There is no such task.
    NotFound,
}

/// The answer to a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is gone.
    Done,
    /// It is in another state, and unchanged.
    Is(TaskStatus),
    /// There is no such task, perhaps because an earlier call of ours removed it and its
    /// acknowledgement was lost.
    NotFound,
}
