//! Writes tasks in parallel, until a deadline.

use std::time::Duration;

use aws::error_chain;
use backon::{ExponentialBuilder, Retryable};
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::backpressure::Backpressure;
use crate::create::chains::Chain;
use crate::store::{Inserted, Replaced, StoreError, TaskStore};
use crate::task::{NewTask, TaskId, Version};
use crate::trace;

pub(super) enum InsertOutcome {
    /// This write stored the task.
    Created,
    /// This write stored the task and superseded a pending state of this key.
    Superseding(TaskId),
    /// The task was already in the table or earlier in the batch.
    Duplicate,
    /// A newer state of this key was already in the table or the batch.
    Outdated(TaskId),
    /// It is unknown whether the task was written. Its message is redelivered.
    Left,
    /// The task was not written because the table throttles. Its message is redelivered.
    Throttled,
    /// The task is invalid, for this reason: every attempt to write it would be rejected.
    Wrong(String),
}

/// The time limits for writes, and whether the table throttles.
pub(super) struct Limits<'a> {
    /// Time after which no write starts. Writes without a response are retried until then.
    pub(super) until: Instant,
    /// Time until which throttled writes are retried, per task; `None` for one of an old message.
    pub(super) patience: &'a [Option<Instant>],
    pub(super) backpressure: &'a Backpressure,
}

/// Writes the chains in order, up to `parallel` at a time. Returns each result with its task's
/// index.
pub(super) async fn all(
    store: &dyn TaskStore,
    chains: Vec<Chain>,
    parallel: usize,
    limits: &Limits<'_>,
) -> Vec<(usize, InsertOutcome)> {
    let writes = chains
        .into_iter()
        .map(|chain| written(store, chain, limits));
    let outcomes: Vec<_> = futures::stream::iter(writes)
        .buffer_unordered(parallel)
        .collect()
        .await;
    outcomes.into_iter().flatten().collect()
}

/// Writes the first valid task of the chain. This task supersedes the older tasks after it, even if
/// its own message has to be redelivered.
async fn written(
    store: &dyn TaskStore,
    chain: Chain,
    limits: &Limits<'_>,
) -> Vec<(usize, InsertOutcome)> {
    let mut outcomes = Vec::with_capacity(chain.len());
    let mut newest: Option<Option<Version>> = None;
    for (index, task) in chain {
        let version = task.keyed.as_ref().map(|keyed| keyed.version.clone());
        let outcome = match &newest {
            Some(newest) if *newest == version => InsertOutcome::Duplicate,
            Some(_) => InsertOutcome::Outdated(task.id),
            None => one(store, task, limits, limits.patience[index]).await,
        };
        let is_done = match outcome {
            InsertOutcome::Wrong(_) => false,
            InsertOutcome::Left | InsertOutcome::Throttled => version.is_some(),
            _ => true,
        };
        if newest.is_none() && is_done {
            newest = Some(version);
        }
        outcomes.push((index, outcome));
    }
    outcomes
}

async fn one(
    store: &dyn TaskStore,
    task: NewTask,
    limits: &Limits<'_>,
    patience: Option<Instant>,
) -> InsertOutcome {
    let until = limits.until;
    if Instant::now() >= until {
        return InsertOutcome::Left;
    }
    if patience.is_none() && limits.backpressure.is_on() {
        return InsertOutcome::Throttled;
    }
    // All attempts use one create token, so that a lost acknowledgement is recognized.
    let insert = || store.insert(&task);
    let insert = insert.retry(backoff()).when(|error| match error {
        StoreError::Throttled { .. } => {
            limits.backpressure.throttled();
            patience.is_some_and(|end| Instant::now() < end)
        }
        error => error.is_transient(),
    });
    let insert = trace::creation(task.id.as_str(), task.trace.as_ref(), insert);
    match timeout_at(until, insert).await {
        Ok(Ok(created @ (Inserted::Created | Inserted::Replaced(_)))) => {
            tracing::debug!(task_id = %task.id, "task created");
            match created {
                Inserted::Replaced(Replaced::Waiting) => InsertOutcome::Superseding(task.id),
                _ => InsertOutcome::Created,
            }
        }
        Ok(Ok(Inserted::Duplicate)) => InsertOutcome::Duplicate,
        Ok(Ok(Inserted::Outdated)) => InsertOutcome::Outdated(task.id),
        Ok(Ok(Inserted::Conflict(conflict))) => rejection(&task, &conflict),
        Ok(Err(error)) if error.is_validation() => rejection(&task, &error),
        Ok(Err(StoreError::Throttled { .. })) => InsertOutcome::Throttled,
        Ok(Err(error)) => {
            let error = error_chain::chain(&error);
            tracing::error!(task_id = %task.id, error, "task not written; its message is redelivered");
            InsertOutcome::Left
        }
        // The deadline passed. If the write took effect, the redelivered task is a duplicate.
        Err(_) => InsertOutcome::Left,
    }
}

/// The backoff between attempts, each of which includes the client's own retries. The caller's
/// deadline limits the number of attempts.
fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(2))
        .without_max_times()
        .with_jitter()
}

/// The reason to reject a task that the store would reject on every attempt.
fn rejection(task: &NewTask, error: &(dyn std::error::Error + 'static)) -> InsertOutcome {
    let name = match &task.keyed {
        None => "taskId",
        Some(_) => "key",
    };
    let cause = error_chain::chain(error);
    InsertOutcome::Wrong(format!("{name} {}: {cause}", task.id))
}
