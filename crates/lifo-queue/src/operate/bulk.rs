//! Operations on many tasks: redrive all, redrive by error, purge.

use std::pin::pin;
use std::time::Duration;

use aws::error_chain;
use futures::{Stream, StreamExt, TryStreamExt, stream};

use super::{FailedChange, Find, OperateError, Operator, RedriveReport};
use crate::store::{Cancelled, Candidate, Order, PageQuery, Redriven, Seen, StoreError};
use crate::task::{TaskId, TaskStatus};

const AT_ONCE: usize = 16;

/// Maximum number of index entries in one read.
const PAGE: u16 = 1_000;

/// Maximum number of tasks found, and of items read, by one search before a redrive.
const FOUND: usize = 1_000;

const PURGED: [TaskStatus; 3] = [
    TaskStatus::Pending,
    TaskStatus::Success,
    TaskStatus::Failure,
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeReport {
    pub deleted: u32,
    /// Number of tasks that were already deleted: by another writer, by DynamoDB after their
    /// expiry, or by an earlier attempt of this purge whose response was lost.
    pub gone: u32,
    /// Number of tasks still in the table because a processor took them before the purge.
    pub left: u32,
    /// Number of tasks still in the table because a newer state replaced the one in the index.
    pub replaced: u32,
    /// Tasks that could not be deleted because of an error in their item.
    pub failed: Vec<FailedChange>,
}

/// Returns the result of changing a task. Adds an error caused by the item to `failed`, so that the
/// other tasks are still changed.
///
/// # Errors
/// Every other store error.
fn or_failed<T>(
    (task, result): (TaskId, Result<T, StoreError>),
    failed: &mut Vec<FailedChange>,
) -> Result<Option<T>, StoreError> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.is_of_item() => {
            let error = error_chain::chain(&error);
            failed.push(FailedChange { task, error });
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Operator {
    /// Redrives every task that failed before this call, and requests one wake-up. A task that
    /// fails during the call may be omitted. A task that can't be changed doesn't stop the others.
    ///
    /// # Errors
    /// [`OperateError`]: some tasks may be redriven; retry the call for the others.
    pub async fn redrive_all(&self, ttl: Duration) -> Result<RedriveReport, OperateError> {
        let mut report = RedriveReport::default();
        let done = self.redrive_pages(ttl, &mut report).await;
        self.wake_redriven(report, done).await
    }

    /// Redrives every failed task whose last error contains `error`, and requests one wake-up.
    ///
    /// # Errors
    /// [`OperateError`]: some tasks may be redriven; retry the call for the others.
    pub async fn redrive_by_error(
        &self,
        error: &str,
        ttl: Duration,
    ) -> Result<RedriveReport, OperateError> {
        let mut report = RedriveReport::default();
        let done = self.redrive_found(error, ttl, &mut report).await;
        self.wake_redriven(report, done).await
    }

    /// Requests a wake-up for the redriven tasks, even if redriving the others failed.
    async fn wake_redriven(
        &self,
        mut report: RedriveReport,
        done: Result<(), StoreError>,
    ) -> Result<RedriveReport, OperateError> {
        if report.redriven > 0 {
            report.wake = Some(self.wake().await?);
        }
        done?;
        Ok(report)
    }

    async fn redrive_pages(
        &self,
        ttl: Duration,
        report: &mut RedriveReport,
    ) -> Result<(), StoreError> {
        let mut pages = pin!(self.pages(TaskStatus::Failure));
        while let Some(page) = pages.try_next().await? {
            let seen = |task: Candidate| (task.id, Seen::Created(task.created));
            let tasks = page.into_iter().map(seen).collect();
            self.redrive_each(tasks, ttl, report).await?;
        }
        Ok(())
    }

    async fn redrive_found(
        &self,
        error: &str,
        ttl: Duration,
        report: &mut RedriveReport,
    ) -> Result<(), StoreError> {
        let mut find = Find {
            error: Some(error.to_owned()),
            ..Find::newest(TaskStatus::Failure, FOUND)
        };
        loop {
            let found = self.find(&find).await?;
            let tasks = found.tasks.into_iter().map(|task| {
                let state = task.state();
                (task.id, state)
            });
            let tasks = tasks.collect();
            self.redrive_each(tasks, ttl, report).await?;
            find.after = found.next;
            if find.after.is_none() {
                return Ok(());
            }
        }
    }

    async fn redrive_each(
        &self,
        tasks: Vec<(TaskId, Seen)>,
        ttl: Duration,
        report: &mut RedriveReport,
    ) -> Result<(), StoreError> {
        let mut results =
            stream::iter(tasks)
                .map(|(task, state)| async move {
                    (task.clone(), self.redrive_one(task, state, ttl).await)
                })
                .buffer_unordered(AT_ONCE);
        while let Some(result) = results.next().await {
            match or_failed(result, &mut report.failed)? {
                Some(Redriven::Done) => report.redriven += 1,
                Some(Redriven::Is(_) | Redriven::Replaced | Redriven::NotFound) => report.lost += 1,
                None => {}
            }
        }
        Ok(())
    }

    /// Deletes every PENDING, SUCCESS and FAILURE task that the index shows, never a TAKEN one.
    /// Calls `progress` after each page. Skips expired tasks, which DynamoDB deletes.
    ///
    /// # Errors
    /// [`StoreError`]: some tasks may be deleted; retry the call for the others.
    pub async fn purge(
        &self,
        mut progress: impl FnMut(&PurgeReport),
    ) -> Result<PurgeReport, StoreError> {
        let mut report = PurgeReport::default();
        for status in PURGED {
            let mut pages = pin!(self.pages(status));
            while let Some(page) = pages.try_next().await? {
                let purge = async |task: Candidate| {
                    let state = Seen::Created(task.created);
                    let result = self.store.purge(&task.id, &state).await;
                    (task.id, result)
                };
                let mut results = stream::iter(page).map(purge).buffer_unordered(AT_ONCE);
                while let Some(result) = results.next().await {
                    match or_failed(result, &mut report.failed)? {
                        Some(Cancelled::Done) => report.deleted += 1,
                        Some(Cancelled::NotFound) => report.gone += 1,
                        Some(Cancelled::Replaced) => report.replaced += 1,
                        Some(Cancelled::Is(_)) => report.left += 1,
                        None => {}
                    }
                }
                progress(&report);
            }
        }
        Ok(report)
    }

    /// Returns the index pages of tasks with the given status, newest first.
    fn pages(&self, status: TaskStatus) -> impl Stream<Item = Result<Vec<Candidate>, StoreError>> {
        let first = PageQuery {
            status: status.into(),
            order: Order::NewestFirst,
            created_from: None,
            after: None,
            limit: PAGE,
            now: self.clock.now(),
        };
        stream::try_unfold(Some(first), async |query| {
            let Some(mut query) = query else {
                return Ok(None);
            };
            let page = self.store.pending_page(&query).await?;
            query.after = page.next;
            let next = query.after.is_some().then_some(query);
            Ok(Some((page.candidates, next)))
        })
    }
}
