//! Writing tasks side by side, until a deadline.

use std::time::Duration;

use aws::error_chain;
use backon::{ExponentialBuilder, Retryable};
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::keys::Chain;
use super::message::Wrong;
use crate::store::{Inserted, Replaced, StoreError, TaskStore};
use crate::task::{NewTask, Version};
use crate::trace;

/// The outcome of a task.
pub(super) enum InsertOutcome {
    /// It is in the table, by this write.
    Created,
    /// It is in the table, and a state of its key that waited is superseded.
    Superseding,
    /// It was there before.
    Duplicate,
    /// A newer state of its key was there before.
    Outdated,
    /// It is not written, or perhaps it is: its message is redelivered.
    Left,
    /// DynamoDB rejects the item itself, and would every time.
    Wrong(Wrong<'static>),
}

/// Writes tasks, `parallel` chains at a time in their order, until `until`; what throttling or a
/// lost answer leaves open is tried again until then. Each answer comes with its task's index.
pub(super) async fn all(
    store: &dyn TaskStore,
    chains: Vec<Chain>,
    parallel: usize,
    until: Instant,
) -> Vec<(usize, InsertOutcome)> {
    let writes = chains.into_iter().map(|chain| written(store, chain, until));
    let outcomes: Vec<_> = futures::stream::iter(writes)
        .buffer_unordered(parallel)
        .collect()
        .await;
    outcomes.into_iter().flatten().collect()
}

/// Writes the first task of the chain that can be written. The older ones behind it are
/// superseded by it, even if its message has to be redelivered.
async fn written(
    store: &dyn TaskStore,
    chain: Chain,
    until: Instant,
) -> Vec<(usize, InsertOutcome)> {
    let mut outcomes = Vec::with_capacity(chain.len());
    let mut newest: Option<Option<Version>> = None;
    for (index, task) in chain {
        let version = task.keyed.as_ref().map(|keyed| keyed.version.clone());
        let outcome = match &newest {
            Some(newest) if *newest == version => InsertOutcome::Duplicate,
            Some(_) => InsertOutcome::Outdated,
            None => one(store, task, until).await,
        };
        if newest.is_none() && !matches!(outcome, InsertOutcome::Wrong(_)) {
            newest = Some(version);
        }
        outcomes.push((index, outcome));
    }
    outcomes
}

async fn one(store: &dyn TaskStore, task: NewTask, until: Instant) -> InsertOutcome {
    if Instant::now() >= until {
        return InsertOutcome::Left;
    }
    // The same create token at every try, so that a lost acknowledgement is recognised.
    let insert = || store.insert(&task);
    let insert = insert.retry(patience()).when(StoreError::is_transient);
    let insert = trace::creation(task.id.as_str(), task.trace.as_ref(), insert);
    match timeout_at(until, insert).await {
        Ok(Ok(Inserted::Replaced(Replaced::Waiting))) => InsertOutcome::Superseding,
        Ok(Ok(Inserted::Created | Inserted::Replaced(_))) => InsertOutcome::Created,
        Ok(Ok(Inserted::Duplicate)) => InsertOutcome::Duplicate,
        Ok(Ok(Inserted::Outdated)) => InsertOutcome::Outdated,
        Ok(Ok(Inserted::Conflict(conflict))) => InsertOutcome::Wrong(wrong(&task, &conflict)),
        Ok(Err(error)) if error.is_validation() => InsertOutcome::Wrong(wrong(&task, &error)),
        Ok(Err(error)) => {
            let error = error_chain::chain(&error);
            tracing::error!(task_id = %task.id, error, "task not written; its message is redelivered");
            InsertOutcome::Left
        }
        // In time for the report; a write that was carried out is a duplicate the next time.
        Err(_) => InsertOutcome::Left,
    }
}

/// On top of the client's own tries of one call, for as long as there is time.
fn patience() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(2))
        .without_max_times()
        .with_jitter()
}

/// A task that would be rejected every time, as its producer could have described it, so that it
/// can be sent again.
fn wrong(task: &NewTask, error: &(dyn std::error::Error + 'static)) -> Wrong<'static> {
    let delay = task
        .not_before
        .map_or(0, |at| at.since(task.created).as_secs());
    let mut described = serde_json::json!({
        "taskCreated": task.created,
        "ttlSeconds": task.expires_at.0 - task.created.ceil_seconds().0,
        "delaySeconds": delay,
        "payload": task.payload,
    });
    let name = match &task.keyed {
        None => "taskId",
        Some(_) => "key",
    };
    described[name] = serde_json::json!(task.id);
    if let Some(sequence) = task
        .keyed
        .as_ref()
        .and_then(|keyed| keyed.version.sequence())
    {
        described["sequence"] = sequence.into();
    }
    Wrong {
        element: None,
        text: described.to_string().into(),
        reason: format!("{name} {}: {}", task.id, error_chain::chain(error)),
    }
}
