//! Shed tasks, which DynamoDB's time to live deleted while they were PENDING or TAKEN.
//!
//! A PENDING task is deleted if it expires before a slot is free: the queue sheds old tasks rather
//! than delaying new ones. A TAKEN task is deleted only if the sweep failed for a day. This module
//! counts both and sends them to a [`ShedSink`] if there is one. Items deleted after SUCCESS or
//! FAILURE are not shed tasks.
//!
//! Tasks are counted and sent at least once: the caller retries them until the sink accepts them.

mod image;
pub mod sqs;

use std::sync::Arc;

use async_trait::async_trait;
use aws::batch::Rejected;
use aws::error_chain;
use serde_json::Value;

pub use self::image::NotShed;
use crate::store::Source;
use crate::task::{MAX_LOGGED, TaskId, TaskStatus};
use crate::time::{EpochSeconds, Millis};

/// A task as it was when it was shed. An attribute is `None` if it was missing or could not be
/// read. [`unreadable`](Self::unreadable) lists unreadable attributes, which occur because any
/// writer may have written the item.
#[derive(Clone, Debug, PartialEq)]
pub struct ShedTask {
    pub reason: ShedReason,
    pub task_id: Option<TaskId>,
    /// PENDING or TAKEN.
    pub task_status: TaskStatus,
    /// Creation time, in milliseconds since the epoch.
    pub task_created: Option<Millis>,
    /// Expiry, in epoch seconds.
    pub expires_at: Option<EpochSeconds>,
    /// Number of attempts that counted against the maximum.
    pub attempts: Option<u32>,
    /// Number of starts, including those that ended in a busy return.
    pub total_attempts: Option<u32>,
    /// Why the last attempt did not succeed; truncated.
    pub last_error: Option<String>,
    /// The producer's payload; `null` if there is none.
    pub payload: Value,
    /// Names of the item's attributes that could not be read.
    pub unreadable: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShedReason {
    Expired,
    /// The task was not admitted because, in a storm, it could not have run before its expiry.
    NotAdmitted,
}

#[async_trait]
pub trait ShedSink: Send + Sync {
    /// Sends the tasks, oldest deletion first. Returns the tasks that it did not accept, in
    /// ascending index order. The sink itself retries, so its result is final for this call.
    ///
    /// The caller later retries all tasks from the first failed one onward. So a sink should stop
    /// at that task and report the rest as [`HandOverError::NotTried`]. Otherwise, it sends some of
    /// them twice.
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver>;
}

/// A task that a sink did not accept.
#[derive(Debug)]
pub struct NotHandedOver {
    /// Index of the task in the list, from 0.
    pub index: usize,
    pub error: HandOverError,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum HandOverError {
    #[error("not attempted, because an earlier task was not accepted")]
    NotTried,
    #[error("rejected: {0}")]
    Rejected(Rejected),
    #[error("the SQS request failed")]
    Failed(#[source] Arc<Source>),
}

/// Counts shed tasks and sends them to the sink, if there is one.
pub struct ShedCounter {
    sink: Option<Arc<dyn ShedSink>>,
}

#[derive(Debug, Default)]
pub struct ShedReport {
    /// Number of counted tasks that were PENDING.
    pub pending: u32,
    /// Number of counted tasks that were TAKEN because the sweep failed for a day.
    pub taken: u32,
    /// Number of counted tasks that were not admitted. Included in `pending`.
    pub not_admitted: u32,
    /// Index of the first task to retry; `None` if the sink accepted every task. The caller must
    /// also retry all later tasks. The tasks to retry are not counted yet.
    pub again_from: Option<usize>,
    /// The tasks that the sink did not accept, in ascending index order.
    pub not_handed_over: Vec<NotHandedOver>,
}

impl ShedReport {
    pub fn counted(&self) -> u64 {
        u64::from(self.pending) + u64::from(self.taken)
    }

    /// Counts and logs these tasks, which the sink accepted.
    pub(crate) fn of<'a>(tasks: impl Iterator<Item = &'a ShedTask> + Clone) -> Self {
        log_shed(tasks.clone());
        let count = |like: &dyn Fn(&ShedTask) -> bool| {
            let tasks = tasks.clone().filter(|task| like(task));
            u32::try_from(tasks.count()).unwrap_or(u32::MAX)
        };
        Self {
            pending: count(&|task| task.task_status == TaskStatus::Pending),
            taken: count(&|task| task.task_status == TaskStatus::Taken),
            not_admitted: count(&|task| task.reason == ShedReason::NotAdmitted),
            ..Self::default()
        }
    }

    /// Adds the result of another list. `again_from` is unchanged, because each list has its own
    /// indexes.
    pub(crate) fn add(&mut self, other: Self) {
        self.pending += other.pending;
        self.taken += other.taken;
        self.not_admitted += other.not_admitted;
        self.not_handed_over.extend(other.not_handed_over);
    }
}

impl ShedCounter {
    pub fn new(sink: Option<Arc<dyn ShedSink>>) -> Self {
        Self { sink }
    }

    /// Sends the tasks and counts those before the first task that the sink did not accept. The
    /// caller must retry the others. A retry counts them.
    pub async fn count(&self, tasks: &[ShedTask]) -> ShedReport {
        let not_handed_over = self.hand_over(tasks).await;
        let again_from = not_handed_over.iter().map(|task| task.index).min();
        let counted = &tasks[..again_from.unwrap_or(tasks.len()).min(tasks.len())];
        ShedReport {
            again_from,
            not_handed_over,
            ..ShedReport::of(counted.iter())
        }
    }

    /// Sends the tasks without counting them. Returns those that the sink did not accept.
    pub(crate) async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        let not_handed_over = match &self.sink {
            Some(sink) if !tasks.is_empty() => sink.hand_over(tasks).await,
            _ => Vec::new(),
        };
        log_problems(tasks, &not_handed_over);
        not_handed_over
    }
}

/// Logs the first tasks of a list one by one. The caller logs the total number, so that an overload
/// doesn't flood the log.
fn log_shed<'a>(tasks: impl Iterator<Item = &'a ShedTask>) {
    for task in tasks.take(MAX_LOGGED) {
        let expires_at = task.expires_at.map(EpochSeconds::millis);
        let limit = expires_at.zip(task.task_created);
        tracing::info!(
            task_id = task.task_id.as_ref().map(TaskId::as_str),
            status = %task.task_status,
            attempts = task.total_attempts,
            age_ms = limit.map(|(end, created)| end.0.saturating_sub(created.0)),
            "task shed"
        );
    }
}

fn log_problems(tasks: &[ShedTask], not_handed_over: &[NotHandedOver]) {
    for task in tasks.iter().filter(|task| !task.unreadable.is_empty()) {
        let task_id = task.task_id.as_ref().map(TaskId::as_str);
        tracing::warn!(task_id, unreadable = ?task.unreadable, "shed task only partly readable");
    }
    if let Some(first) = not_handed_over.first() {
        let task_id = tasks
            .get(first.index)
            .and_then(|task| task.task_id.as_ref())
            .map(TaskId::as_str);
        let error = error_chain::chain(&first.error);
        let tasks = not_handed_over.len();
        tracing::error!(task_id, error, tasks, "shed tasks not sent to their queue");
    }
}

#[cfg(test)]
mod tests;
