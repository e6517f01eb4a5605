//! Tasks that may have crashed their process.

use super::Operator;
use crate::control::Control;
use crate::store::{Order, PageQuery, StoreError};
use crate::task::{TaskId, TaskStatus};
use crate::time::Millis;

/// Maximum number of index entries read per status.
const PAGE: u16 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    pub task: TaskId,
    /// TAKEN if the task has no live lease or no processor is active. PENDING if its last lease
    /// expired.
    pub status: TaskStatus,
    /// Number of attempts so far that count against the maximum.
    pub attempts: u32,
}

impl Operator {
    /// Returns the suspects among the newest running and pending tasks: TAKEN tasks without a live
    /// task lease or processor lease, and PENDING tasks whose last lease expired.
    pub async fn suspects(
        &self,
        control: &Control,
        now: Millis,
    ) -> Result<Vec<Suspect>, StoreError> {
        let query = |status: TaskStatus| PageQuery {
            status: status.into(),
            order: Order::NewestFirst,
            created_from: None,
            after: None,
            limit: PAGE,
            now,
        };
        let taken = self.store.taken_page(&query(TaskStatus::Taken)).await?;
        let is_processed = control.live_lease(now).is_some();
        let taken = taken
            .leases
            .into_iter()
            .filter(|there| !is_processed || there.lease.until <= now)
            .map(|there| Suspect {
                task: there.lease.task,
                status: TaskStatus::Taken,
                attempts: there.attempts,
            });
        let pending = self.store.pending_page(&query(TaskStatus::Pending)).await?;
        let pending = pending
            .candidates
            .into_iter()
            .filter(|task| task.lease_expired)
            .map(|task| Suspect {
                task: task.id,
                status: TaskStatus::Pending,
                attempts: task.attempts,
            });
        Ok(taken.chain(pending).collect())
    }
}
