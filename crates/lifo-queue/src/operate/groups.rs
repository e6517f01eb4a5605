//! The groups of a queue and their task counts, from a bounded read of the index.

use std::collections::BTreeMap;

use super::Operator;
use crate::store::{Candidate, Order, PageQuery, StoreError};
use crate::task::TaskStatus;
use crate::time::Millis;

/// Maximum number of index entries in one read.
const PAGE: usize = 1_000;

/// The groups of the newest tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupDepths {
    /// Groups by name. The name is empty for tasks without a group.
    pub groups: BTreeMap<String, GroupDepth>,
    /// Number of index entries read.
    pub read: usize,
    /// Whether every pending and running task was read. If not, there may be more and older tasks.
    pub exact: bool,
}

/// Counts and ages of the tasks in one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupDepth {
    /// Pending tasks that have not expired.
    pub pending: u32,
    /// Creation time of the newest pending task.
    pub newest: Option<Millis>,
    /// Creation time of the oldest pending task.
    pub oldest: Option<Millis>,
    /// Running tasks, and tasks of crashed processes.
    pub taken: u32,
}

impl Operator {
    /// Counts the newest pending and running tasks per group. Reads a maximum of `most` index
    /// entries per status.
    ///
    /// # Errors
    /// [`StoreError`]: the index could not be read.
    pub async fn group_depths(&self, most: usize) -> Result<GroupDepths, StoreError> {
        let now = self.clock.now();
        let mut depths = GroupDepths {
            exact: true,
            ..GroupDepths::default()
        };
        for status in [TaskStatus::Pending, TaskStatus::Taken] {
            let mut query = PageQuery {
                status: status.into(),
                order: Order::NewestFirst,
                created_from: None,
                after: None,
                limit: 0,
                now,
            };
            let mut left = most;
            loop {
                query.limit = u16::try_from(left.min(PAGE)).unwrap_or(u16::MAX);
                let page = self.store.pending_page(&query).await?;
                depths.read += page.candidates.len();
                // Count the page as full, even if it contained expired tasks, so that reads end.
                left = left.saturating_sub(usize::from(query.limit));
                for task in page.candidates {
                    depths.count(&task, status, now);
                }
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
                if left == 0 {
                    depths.exact = false;
                    break;
                }
            }
        }
        Ok(depths)
    }
}

impl GroupDepths {
    fn count(&mut self, task: &Candidate, status: TaskStatus, now: Millis) {
        if status == TaskStatus::Pending && task.ttl.is_expired(now) {
            return;
        }
        let group = self.groups.entry(task.id.group().to_owned()).or_default();
        match status {
            TaskStatus::Pending => {
                group.pending += 1;
                group.newest = group.newest.max(Some(task.created));
                let oldest = group.oldest.unwrap_or(task.created);
                group.oldest = Some(oldest.min(task.created));
            }
            _ => group.taken += 1,
        }
    }
}
