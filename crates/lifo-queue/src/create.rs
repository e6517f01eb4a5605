//! Checks and inserts new tasks. One bad task fails alone; creating is idempotent by task id.

mod payload;
pub(crate) mod spec;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

pub use self::payload::{InvalidPayload, MAX_DEPTH, MAX_ITEM_BYTES, MAX_PAYLOAD_BYTES};
pub use self::spec::InvalidTask;
use self::spec::Origin;
use crate::settings::{ms, positive_ms};
use crate::store::{Inserted, QueueStore, Replaced};
use crate::task::{NewTask, Place, TaskId, Ttl};
use crate::time::Clock;
use crate::trace;

/// The most tasks of one event or message: what one invocation inserts within seconds, and whose
/// report fits into an answer of Lambda's 6 MB
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
pub const MAX_TASKS: usize = 10_000;

/// Inserts under way at once.
const PARALLEL: usize = 16;

/// The longest expiry where the configuration sets none: ten years.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 366 * 86_400);

/// What new tasks get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CreateSettings {
    /// The expiry of a task that names none.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// The longest expiry a task may name.
    #[serde(
        rename = "maxTtlMs",
        default = "longest_ttl",
        deserialize_with = "positive_ms"
    )]
    pub max_ttl: Duration,
    /// The longest expiry of a task with a key: as long as settled tasks are kept, since with the
    /// settled task the order of its key is forgotten.
    #[serde(rename = "keyTtlMs", deserialize_with = "ms")]
    pub key_ttl: Duration,
    /// Where a key stands whose waiting state is replaced.
    #[serde(rename = "order")]
    pub place: Place,
}

fn longest_ttl() -> Duration {
    LONGEST_TTL
}

/// Creates tasks.
pub struct Creator {
    store: Arc<dyn QueueStore>,
    clock: Arc<dyn Clock>,
    settings: CreateSettings,
}

/// The answer: every description is in exactly one list, by its index in the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CreateReport {
    /// In the table by this request, as PENDING or, of a key that runs, as the state that
    /// follows.
    pub created: Vec<CreatedTask>,
    /// A task with this id was there before, and is unchanged.
    pub duplicates: Vec<CreatedTask>,
    /// A newer state of the key was there before: superseded on arrival.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outdated: Vec<CreatedTask>,
    /// Not inserted; the others were.
    pub failed: Vec<FailedTask>,
}

/// A task that is in the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTask {
    /// Its place in the request, from 0.
    pub index: usize,
    /// Its id.
    pub task_id: TaskId,
    /// A state of the key that waited was superseded by this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supersedes: bool,
}

/// A task that was not inserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedTask {
    /// Its place in the request, from 0.
    pub index: usize,
    /// Its id, if it was given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What is wrong, with the field's name and the remedy.
    pub error: String,
    /// Whether the same task may be created when it is sent again: DynamoDB was unavailable or
    /// throttled. Otherwise the task itself has to be fixed.
    pub retryable: bool,
}

/// A task and its place in the request.
pub(crate) type Indexed = (usize, NewTask);

impl CreateReport {
    /// How many states of keys were superseded, by others of the request or on arrival.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        let replaced = self.created.iter().filter(|task| task.supersedes);
        (replaced.count() + self.outdated.len()) as u64
    }
}

enum InsertOutcome {
    Created {
        id: TaskId,
        supersedes: bool,
    },
    Duplicate(TaskId),
    Outdated(TaskId),
    Failed {
        id: Option<String>,
        error: String,
        retryable: bool,
    },
}

impl Creator {
    /// A creator.
    #[must_use]
    pub fn new(
        store: Arc<dyn QueueStore>,
        clock: Arc<dyn Clock>,
        settings: CreateSettings,
    ) -> Self {
        Self {
            store,
            clock,
            settings,
        }
    }

    /// Creates one task for each description
    /// `{"taskId"? or "key"? with "sequence"?, "payload"?, "ttlSeconds"?, "taskCreated"?,
    /// "delaySeconds"?}`.
    pub async fn create(&self, specs: &[Value]) -> CreateReport {
        let (now, request) = (self.clock.now(), Uuid::now_v7().to_string());
        let mut outcomes = Vec::with_capacity(specs.len());
        let mut tasks = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let origin = Origin {
                sent: now,
                now,
                request: &request,
                place: index,
            };
            match self.read(spec, origin) {
                Ok(task) => tasks.push((index, task)),
                Err(error) => {
                    let outcome = InsertOutcome::Failed {
                        id: spec::given_id(spec).map(str::to_owned),
                        error: error.to_string(),
                        retryable: false,
                    };
                    outcomes.push((index, outcome));
                }
            }
        }
        let (first, again) = split_repeats(tasks);
        outcomes.extend(self.insert_all(first, PARALLEL).await);
        // Of tasks with one id the first is created, so the others follow it. Of states of one key
        // the last wins.
        outcomes.extend(self.insert_all(again, 1).await);
        report(outcomes)
    }

    fn read(&self, spec: &Value, origin: Origin<'_>) -> Result<NewTask, InvalidTask> {
        let task = spec::parse(spec, &self.settings, origin, TaskId::fresh)?;
        if Ttl::Seconds(task.expires_at).is_expired(origin.now) {
            return Err(InvalidTask::Expired(task.expires_at));
        }
        Ok(task)
    }

    /// Creates `count` tasks with a small payload, for trying the queue out.
    pub async fn simulate(&self, count: usize) -> CreateReport {
        let specs: Vec<_> = (0..count)
            .map(|n| json!({"payload": {"simulated": n}}))
            .collect();
        self.create(&specs).await
    }

    async fn insert_all(
        &self,
        tasks: Vec<Indexed>,
        parallel: usize,
    ) -> Vec<(usize, InsertOutcome)> {
        let inserts = tasks.into_iter().map(|(index, task)| async move {
            let created = |id, supersedes| InsertOutcome::Created { id, supersedes };
            let insert = self.store.insert(&task);
            let insert = trace::creation(task.id.as_str(), task.trace.as_ref(), insert);
            let outcome = match insert.await {
                Ok(Inserted::Created) => created(task.id, false),
                Ok(Inserted::Replaced(what)) => created(task.id, what == Replaced::Waiting),
                Ok(Inserted::Duplicate) => InsertOutcome::Duplicate(task.id),
                Ok(Inserted::Outdated) => InsertOutcome::Outdated(task.id),
                Ok(Inserted::Conflict(conflict)) => InsertOutcome::Failed {
                    error: format!("{} {conflict}", task.id),
                    id: Some(task.id.to_string()),
                    retryable: false,
                },
                Err(error) => {
                    tracing::error!(
                        task_id = %task.id,
                        error = error_chain::chain(&error),
                        "task not inserted"
                    );
                    InsertOutcome::Failed {
                        id: Some(task.id.to_string()),
                        retryable: !error.is_validation(),
                        error: format!("{error}; create it again under the same taskId"),
                    }
                }
            };
            (index, outcome)
        });
        futures::stream::iter(inserts)
            .buffer_unordered(parallel)
            .collect()
            .await
    }
}

/// Splits off every task whose id stood before it.
fn split_repeats(tasks: Vec<Indexed>) -> (Vec<Indexed>, Vec<Indexed>) {
    let mut seen = HashSet::new();
    tasks
        .into_iter()
        .partition(|(_, task)| seen.insert(task.id.clone()))
}

fn report(mut outcomes: Vec<(usize, InsertOutcome)>) -> CreateReport {
    outcomes.sort_by_key(|(index, _)| *index);
    let mut report = CreateReport::default();
    let listed = |index, task_id, supersedes| CreatedTask {
        index,
        task_id,
        supersedes,
    };
    for (index, outcome) in outcomes {
        match outcome {
            InsertOutcome::Created { id, supersedes } => {
                report.created.push(listed(index, id, supersedes))
            }
            InsertOutcome::Duplicate(id) => report.duplicates.push(listed(index, id, false)),
            InsertOutcome::Outdated(id) => report.outdated.push(listed(index, id, false)),
            InsertOutcome::Failed {
                id,
                error,
                retryable,
            } => report.failed.push(FailedTask {
                index,
                task_id: id,
                error,
                retryable,
            }),
        }
    }
    report
}

#[cfg(test)]
mod tests;
