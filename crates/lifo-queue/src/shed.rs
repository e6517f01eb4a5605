//! What was shed: tasks that DynamoDB's time to live deleted while they were PENDING or TAKEN.
//!
//! A PENDING task goes when its deadline passed before a slot was free: what a queue is for that
//! would rather lose the old than delay the new. A TAKEN one goes only if the sweep failed for a
//! day. Either is counted, and with a [`ShedSink`] it is handed on, so that nothing disappears
//! unseen. (What is deleted after SUCCESS or FAILURE was done, and is no business of this module.)
//!
//! Counting and sending are at least once: the caller repeats deleted tasks until they are
//! taken.

mod image;
pub mod sqs;

use std::sync::Arc;

use async_trait::async_trait;
use aws::batch::Rejected;
use aws::error_chain;
use serde_json::Value;

pub use self::image::NotShed;
use crate::store::Source;
use crate::task::{TaskId, TaskStatus};
use crate::time::{EpochSeconds, Millis};

/// A task as it was when DynamoDB deleted it. What its item did not have is `None`, and so is
/// what could not be read, since anyone may have written the item; [`unreadable`](Self::unreadable)
/// tells the two apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ShedTask {
    /// Its identity.
    pub task_id: Option<TaskId>,
    /// PENDING or TAKEN.
    pub task_status: TaskStatus,
    /// When it was created, in milliseconds.
    pub task_created: Option<Millis>,
    /// Its deadline, in epoch seconds.
    pub expires_at: Option<EpochSeconds>,
    /// Attempts that counted against the maximum.
    pub attempts: Option<u32>,
    /// Every start, busy returns included.
    pub total_attempts: Option<u32>,
    /// Why the last attempt did not succeed, truncated.
    pub last_error: Option<String>,
    /// The producer's payload; `null` when there is none.
    pub payload: Value,
    /// Attributes that the item had and that could not be read, by name.
    pub unreadable: Vec<&'static str>,
}

/// Where shed tasks go: the hook of `count-shed`.
#[async_trait]
pub trait ShedSink: Send + Sync {
    /// Takes the tasks, oldest deletion first, and says which it did not take, in ascending order
    /// of their index. Waiting and trying again is its own part; what it reports is final for
    /// this call.
    ///
    /// The caller brings everything from the first such task on again. So a sink does well not to
    /// go on after one, and reports the rest as [`HandOverError::NotTried`]: what it took of them
    /// would come twice.
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver>;
}

/// A task that a sink did not take.
#[derive(Debug)]
pub struct NotHandedOver {
    /// Its place in the list that was handed over.
    pub index: usize,
    /// Why.
    pub error: HandOverError,
}

/// Why a sink did not take a task.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HandOverError {
    /// An earlier one failed.
    #[error("not tried, because a task before it was not taken")]
    NotTried,
    /// The service rejects this message.
    #[error("rejected: {0}")]
    Refused(Rejected),
    /// The service was unavailable, or rejected the whole call.
    #[error("the call failed")]
    Failed(#[source] Arc<Source>),
}

/// Counts shed tasks, and hands them to the sink if there is one.
pub struct ShedCounter {
    sink: Option<Arc<dyn ShedSink>>,
}

/// The outcome of a list of shed tasks.
#[derive(Debug, Default)]
pub struct ShedReport {
    /// Counted, of those that were PENDING.
    pub pending: u32,
    /// Counted, of those that were TAKEN: the sweep failed for a day.
    pub taken: u32,
    /// The tasks that must be brought again begin here. None of them is counted.
    pub again_from: Option<usize>,
    /// The tasks that the sink did not take, in ascending order of their index.
    pub not_handed_over: Vec<NotHandedOver>,
}

impl ShedReport {
    /// How many tasks are counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        u64::from(self.pending) + u64::from(self.taken)
    }

    /// Adds what another list came to. Each list has indexes of its own, so `again_from` stays.
    pub(crate) fn add(&mut self, other: Self) {
        self.pending += other.pending;
        self.taken += other.taken;
        self.not_handed_over.extend(other.not_handed_over);
    }
}

impl ShedCounter {
    /// A counter, with a sink or without one.
    #[must_use]
    pub fn new(sink: Option<Arc<dyn ShedSink>>) -> Self {
        Self { sink }
    }

    /// Hands the tasks over and counts them, up to the first that was not taken: from there on
    /// they must be brought again, and are counted then.
    pub async fn count(&self, tasks: &[ShedTask]) -> ShedReport {
        let not_handed_over = match &self.sink {
            Some(sink) if !tasks.is_empty() => sink.hand_over(tasks).await,
            _ => Vec::new(),
        };
        let again_from = not_handed_over.iter().map(|task| task.index).min();
        let counted = &tasks[..again_from.unwrap_or(tasks.len()).min(tasks.len())];
        let count = |status| {
            let of_status = counted.iter().filter(|task| task.task_status == status);
            u32::try_from(of_status.count()).unwrap_or(u32::MAX)
        };
        let report = ShedReport {
            pending: count(TaskStatus::Pending),
            taken: count(TaskStatus::Taken),
            again_from,
            not_handed_over,
        };
        log(tasks, &report);
        report
    }
}

fn log(tasks: &[ShedTask], report: &ShedReport) {
    for task in tasks.iter().filter(|task| !task.unreadable.is_empty()) {
        let task_id = task.task_id.as_ref().map(TaskId::as_str);
        tracing::warn!(task_id, unreadable = ?task.unreadable, "shed task read in part");
    }
    if let Some(first) = report.not_handed_over.first() {
        let task_id = tasks
            .get(first.index)
            .and_then(|task| task.task_id.as_ref())
            .map(TaskId::as_str);
        let error = error_chain::chain(&first.error);
        let tasks = report.not_handed_over.len();
        tracing::error!(task_id, error, tasks, "shed tasks not handed over");
    }
}

#[cfg(test)]
mod tests;
