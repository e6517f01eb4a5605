//! Checks and inserts new tasks. An invalid task does not affect the others. Creation is idempotent
//! by task id.

pub(crate) mod chains;
mod decimal;
mod group;
mod payload;
pub mod request;
pub(crate) mod spec;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use self::chains::{Chain, chains};
pub use self::group::InvalidGroup;
pub use self::payload::{InvalidPayload, MAX_DEPTH, MAX_ITEM_BYTES, MAX_PAYLOAD_BYTES};
pub use self::spec::InvalidTask;
use self::spec::Origin;
use crate::settings::{ms, positive_ms};
use crate::store::{Inserted, QueueStore, Replaced};
use crate::task::{NewTask, Place, TaskId, Ttl};
use crate::time::Clock;
use crate::trace;

/// Maximum number of tasks in one event or message. One invocation inserts them within seconds, and
/// their report fits into Lambda's maximum response size of 6 MB
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
pub const MAX_TASKS: usize = 10_000;

/// Some Windows programs begin a text with this character, which a JSON parser may ignore (RFC 8259, section 8.1).
pub const BYTE_ORDER_MARK: char = '\u{feff}';

const PARALLEL: usize = 16;

/// The default for the longest expiry: ten years.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 366 * 86_400);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CreateSettings {
    /// Time until a task without `ttlSeconds` expires.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// Longest expiry that a task may request.
    #[serde(
        rename = "maxTtlMs",
        default = "longest_ttl",
        deserialize_with = "positive_ms"
    )]
    pub max_ttl: Duration,
    /// Longest expiry of a task with a key. Equals the retention of settled tasks, because the
    /// settled task records the order of the key's states.
    #[serde(rename = "keyTtlMs", deserialize_with = "ms")]
    pub key_ttl: Duration,
    /// Position of a key in the queue after a newer state superseded its pending state.
    #[serde(rename = "order")]
    pub place: Place,
    /// Whether the queue has groups. If so, the optional `group` of a task becomes part of its id.
    #[serde(default)]
    pub groups: bool,
}

fn longest_ttl() -> Duration {
    LONGEST_TTL
}

pub struct Creator {
    store: Arc<dyn QueueStore>,
    clock: Arc<dyn Clock>,
    settings: CreateSettings,
}

/// Result of a request. Every description appears in exactly one list, with its request index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CreateReport {
    /// Tasks that this request wrote, either as PENDING or, if a state of their key is running, as
    /// the key's next state.
    pub created: Vec<CreatedTask>,
    /// Tasks that were already in the table and are unchanged.
    pub duplicates: Vec<CreatedTask>,
    /// States that were not written because the table already had a newer state of their key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outdated: Vec<CreatedTask>,
    /// Tasks that were not inserted.
    pub failed: Vec<FailedTask>,
}

/// A task in the request that did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTask {
    /// Index of the task in the request, from 0.
    pub index: usize,
    /// Id of the task.
    pub task_id: TaskId,
    /// Whether this state superseded a state of its key that had not started.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supersedes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedTask {
    /// Index of the task in the request, from 0.
    pub index: usize,
    /// Id or key of the task, if the request contains one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The error, with the field's name and the fix.
    pub error: String,
    /// Whether the caller can retry the same task, for example because DynamoDB was unavailable or
    /// throttled. Otherwise the task itself must be fixed.
    pub retryable: bool,
}

pub(crate) type Indexed = (usize, NewTask);

impl CreateReport {
    /// Number of superseded states: stored ones that this request superseded and outdated new ones.
    pub fn superseded(&self) -> u64 {
        let replaced = self.created.iter().filter(|task| task.supersedes);
        (replaced.count() + self.outdated.len()) as u64
    }

    /// The keys of the first superseded states, for the log; `None` if there are none.
    pub fn superseded_keys(&self) -> Option<String> {
        let replaced = self.created.iter().filter(|task| task.supersedes);
        let keys = replaced.chain(&self.outdated).map(|task| &task.task_id);
        TaskId::logged(keys)
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

    pub async fn carry_out(&self, request: request::Request) -> CreateReport {
        match request {
            request::Request::Create(tasks) => self.create(&tasks).await,
            request::Request::Simulate(count) => self.simulate(count).await,
        }
    }

    /// Creates one task per description, whose text is
    /// `{"group"?, "taskId"? or "key"? with "sequence"?, "payload"?, "ttlSeconds"?, "taskCreated"?,
    /// "delaySeconds"?}`.
    pub async fn create(&self, specs: &[impl Display + Sync]) -> CreateReport {
        let (now, request) = (self.clock.now(), Uuid::now_v7().to_string());
        let mut outcomes = Vec::with_capacity(specs.len());
        let mut tasks = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let origin = Origin {
                sent: now,
                now,
                group: None,
                request: &request,
                place: index,
            };
            let spec = spec.to_string();
            match self.read(&spec, origin) {
                Ok(task) => tasks.push((index, task)),
                Err(error) => {
                    let outcome = InsertOutcome::Failed {
                        id: spec::given_id(&spec),
                        error: error.to_string(),
                        retryable: false,
                    };
                    outcomes.push((index, outcome));
                }
            }
        }
        let (first, again) = chains(tasks);
        outcomes.extend(self.insert_all(first, PARALLEL).await);
        // Tasks with the same id that cannot be compared are inserted one by one.
        outcomes.extend(self.insert_all(again, 1).await);
        report(outcomes)
    }

    fn read(&self, spec: &str, origin: Origin<'_>) -> Result<NewTask, InvalidTask> {
        let task = spec::parse(spec, &self.settings, origin, TaskId::fresh)?;
        if Ttl::Seconds(task.expires_at).is_expired(origin.now) {
            return Err(InvalidTask::Expired(task.expires_at));
        }
        Ok(task)
    }

    /// Creates `count` tasks with small payloads, to try out the queue.
    pub async fn simulate(&self, count: usize) -> CreateReport {
        let specs: Vec<_> = (0..count)
            .map(|n| json!({"payload": {"simulated": n}}))
            .collect();
        self.create(&specs).await
    }

    async fn insert_all(&self, chains: Vec<Chain>, parallel: usize) -> Vec<(usize, InsertOutcome)> {
        let inserts = chains.into_iter().map(|chain| self.insert_chain(chain));
        let outcomes: Vec<_> = futures::stream::iter(inserts)
            .buffer_unordered(parallel)
            .collect()
            .await;
        outcomes.into_iter().flatten().collect()
    }

    /// Inserts the first valid task of the chain. The other tasks are duplicates or outdated. If it
    /// is unknown whether the task was inserted, all tasks of the chain fail.
    async fn insert_chain(&self, chain: Chain) -> Vec<(usize, InsertOutcome)> {
        let mut outcomes = Vec::with_capacity(chain.len());
        let mut inserted = None;
        let mut failure = None;
        for (index, task) in chain {
            let version = task.keyed.as_ref().map(|keyed| keyed.version.clone());
            let outcome = match (&inserted, &failure) {
                (Some(newest), _) if *newest == version => InsertOutcome::Duplicate(task.id),
                (Some(_), _) => InsertOutcome::Outdated(task.id),
                (None, Some(error)) => InsertOutcome::Failed {
                    id: Some(task.id.to_string()),
                    error: String::clone(error),
                    retryable: true,
                },
                (None, None) => self.insert(task).await,
            };
            match &outcome {
                InsertOutcome::Failed {
                    retryable: false, ..
                } => {}
                InsertOutcome::Failed { error, .. } => failure = Some(error.clone()),
                _ if inserted.is_none() => inserted = Some(version),
                _ => {}
            }
            outcomes.push((index, outcome));
        }
        outcomes
    }

    async fn insert(&self, task: NewTask) -> InsertOutcome {
        let created = |id, supersedes| {
            tracing::debug!(task_id = %id, "task created");
            InsertOutcome::Created { id, supersedes }
        };
        let insert = self.store.insert(&task);
        let insert = trace::creation(task.id.as_str(), task.trace.as_ref(), insert);
        match insert.await {
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
                let retryable = !error.is_validation();
                InsertOutcome::Failed {
                    id: Some(task.id.to_string()),
                    retryable,
                    error: match retryable {
                        true => format!("{error}; create it again under the same taskId"),
                        false => error_chain::chain(&error),
                    },
                }
            }
        }
    }
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
