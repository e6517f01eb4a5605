//! Writing tasks side by side, until a deadline.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::message::Wrong;
use crate::causes;
use crate::create::Indexed;
use crate::store::{Inserted, StoreError, TaskStore};
use crate::task::NewTask;

/// The outcome of a task.
pub(super) enum Fate {
    /// It is in the table, by this write.
    Created,
    /// It was there before.
    Duplicate,
    /// It is not written, or perhaps it is: its message is redelivered.
    Left,
    /// DynamoDB rejects the item itself, and would every time.
    Wrong(Wrong<'static>),
}

/// Writes tasks, `parallel` at a time in their order, until `until`; what throttling or a lost
/// answer leaves open is tried again until then. Each answer comes with its task's index.
pub(super) async fn all(
    store: &dyn TaskStore,
    tasks: Vec<Indexed>,
    parallel: usize,
    until: Instant,
) -> Vec<(usize, Fate)> {
    let writes = tasks
        .into_iter()
        .map(|(index, task)| async move { (index, one(store, task, until).await) });
    futures::stream::iter(writes)
        .buffer_unordered(parallel)
        .collect()
        .await
}

async fn one(store: &dyn TaskStore, task: NewTask, until: Instant) -> Fate {
    if Instant::now() >= until {
        return Fate::Left;
    }
    // The same create token at every try, so that a lost acknowledgement is recognised.
    let insert = || store.insert(&task);
    let insert = insert.retry(patience()).when(StoreError::is_transient);
    match timeout_at(until, insert).await {
        Ok(Ok(Inserted::Created)) => Fate::Created,
        Ok(Ok(Inserted::Duplicate)) => Fate::Duplicate,
        Ok(Err(error)) if error.is_validation() => Fate::Wrong(refused(&task, &error)),
        Ok(Err(error)) => {
            let error = causes::chain(&error);
            tracing::error!(task_id = %task.id, error, "task not written; its message is redelivered");
            Fate::Left
        }
        // In time for the report; a write that was carried out is a duplicate the next time.
        Err(_) => Fate::Left,
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

fn refused(task: &NewTask, error: &StoreError) -> Wrong<'static> {
    // As its producer could have described it, so that it can be sent again.
    let delay = task
        .not_before
        .map_or(0, |at| at.since(task.created).as_secs());
    let described = serde_json::json!({
        "taskId": task.id,
        "taskCreated": task.created,
        "ttlSeconds": task.expires_at.0 - task.created.ceil_seconds().0,
        "delaySeconds": delay,
        "payload": task.payload,
    });
    Wrong {
        element: None,
        text: described.to_string().into(),
        reason: format!("taskId {}: {}", task.id, causes::chain(error)),
    }
}
