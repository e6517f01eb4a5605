//! What operators do to many tasks: redrive by error, purge.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::{Find, OperateError, Operator, RedriveReport};
use crate::store::{Cancelled, Candidate, Order, PageQuery, Redriven, StoreError};
use crate::task::TaskStatus;

/// Writes under way at once.
const AT_ONCE: usize = 16;

/// Entries of the index in one read.
const PAGE: u16 = 1_000;

/// Tasks found at once, before they are redriven.
const FOUND: usize = 1_000;

/// The statuses of the tasks that a purge deletes.
const PURGED: [TaskStatus; 3] = [
    TaskStatus::Pending,
    TaskStatus::Success,
    TaskStatus::Failure,
];

/// The outcome of a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Gone.
    pub deleted: u32,
    /// TAKEN meanwhile, or gone already.
    pub left: u32,
}

impl Operator {
    /// Redrives every failed task whose last error contains `error`, and wakes once.
    ///
    /// # Errors
    /// [`OperateError`]: some may be redriven; repeat it for the others.
    pub async fn redrive_by_error(
        &self,
        error: &str,
        ttl: Duration,
    ) -> Result<RedriveReport, OperateError> {
        let mut report = RedriveReport::default();
        let done = self.redrive_found(error, ttl, &mut report).await;
        if report.redriven > 0 {
            // Also when the rest could not be read: those that are PENDING wait.
            report.wake = Some(self.wake().await?);
        }
        done?;
        Ok(report)
    }

    async fn redrive_found(
        &self,
        error: &str,
        ttl: Duration,
        report: &mut RedriveReport,
    ) -> Result<(), StoreError> {
        let mut find = Find {
            status: TaskStatus::Failure,
            created_from: None,
            after: None,
            error: Some(error.to_owned()),
            limit: FOUND,
            max_items: FOUND,
        };
        loop {
            let found = self.find(&find).await?;
            let mut answers = stream::iter(found.tasks)
                .map(|task| self.redrive_one(task.id, ttl))
                .buffer_unordered(AT_ONCE);
            while let Some(answer) = answers.try_next().await? {
                match answer {
                    Redriven::Done => report.redriven += 1,
                    Redriven::Is(_) | Redriven::NotFound => report.lost += 1,
                }
            }
            find.after = found.next;
            if find.after.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes every PENDING, SUCCESS and FAILURE task that the index shows, never a TAKEN one.
    /// `progress` hears of each page. Expired tasks are left to DynamoDB.
    ///
    /// # Errors
    /// [`StoreError`]: some may be deleted; repeat it for the others.
    pub async fn purge(
        &self,
        mut progress: impl FnMut(&PurgeReport),
    ) -> Result<PurgeReport, StoreError> {
        let mut report = PurgeReport::default();
        for status in PURGED {
            let mut query = PageQuery {
                status: status.into(),
                order: Order::NewestFirst,
                created_from: None,
                after: None,
                limit: PAGE,
                now: self.clock.now(),
            };
            loop {
                let page = self.store.pending_page(&query).await?;
                let purge = |task: Candidate| async move { self.store.purge(&task.id).await };
                let mut answers = stream::iter(page.candidates)
                    .map(purge)
                    .buffer_unordered(AT_ONCE);
                while let Some(answer) = answers.try_next().await? {
                    match answer {
                        Cancelled::Done => report.deleted += 1,
                        Cancelled::Is(_) | Cancelled::NotFound => report.left += 1,
                    }
                }
                progress(&report);
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
        }
        Ok(report)
    }
}
