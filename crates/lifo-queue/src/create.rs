//! Checks and inserts new tasks. One bad task fails alone; creating is idempotent by task id.

mod payload;
pub(crate) mod spec;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};

pub use self::payload::{InvalidPayload, MAX_DEPTH, MAX_ITEM_BYTES, MAX_PAYLOAD_BYTES};
pub use self::spec::InvalidTask;
use crate::causes;
use crate::store::{Inserted, QueueStore};
use crate::task::{NewTask, TaskId, Ttl};
use crate::time::{Clock, Millis};

/// The most tasks of one event or message: what one invocation inserts within seconds, and whose
/// report fits into an answer of Lambda's 6 MB
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
pub const MAX_TASKS: usize = 10_000;

/// Inserts under way at once.
const PARALLEL: usize = 16;

/// The longest expiry where the configuration sets none: ten years.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 366 * 86_400);

/// What new tasks get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateSettings {
    /// The expiry of a task that names none.
    pub default_ttl: Duration,
    /// The longest expiry a task may name.
    pub max_ttl: Duration,
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
    /// Inserted as PENDING.
    pub created: Vec<CreatedTask>,
    /// A task with this id was there before, and is unchanged.
    pub duplicates: Vec<CreatedTask>,
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

enum Fate {
    Created(TaskId),
    Duplicate(TaskId),
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
    /// `{"taskId"?, "payload"?, "ttlSeconds"?, "taskCreated"?, "delaySeconds"?}`.
    pub async fn create(&self, specs: &[Value]) -> CreateReport {
        let now = self.clock.now();
        let mut fates = Vec::with_capacity(specs.len());
        let mut tasks = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            match self.read(spec, now) {
                Ok(task) => tasks.push((index, task)),
                Err(error) => {
                    let fate = Fate::Failed {
                        id: spec::given_id(spec).map(str::to_owned),
                        error: error.to_string(),
                        retryable: false,
                    };
                    fates.push((index, fate));
                }
            }
        }
        let (first, again) = split_repeats(tasks);
        fates.extend(self.insert_all(first, PARALLEL).await);
        // A repeated id in one request: the first one wins, so the others wait.
        fates.extend(self.insert_all(again, 1).await);
        report(fates)
    }

    fn read(&self, spec: &Value, now: Millis) -> Result<NewTask, InvalidTask> {
        let task = spec::parse(spec, &self.settings, now, TaskId::fresh)?;
        if Ttl::Seconds(task.expires_at).is_expired(now) {
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

    async fn insert_all(&self, tasks: Vec<Indexed>, parallel: usize) -> Vec<(usize, Fate)> {
        let inserts = tasks.into_iter().map(|(index, task)| async move {
            let fate = match self.store.insert(&task).await {
                Ok(Inserted::Created) => Fate::Created(task.id),
                Ok(Inserted::Duplicate) => Fate::Duplicate(task.id),
                Err(error) => {
                    tracing::error!(
                        task_id = %task.id,
                        error = causes::chain(&error),
                        "task not inserted"
                    );
                    Fate::Failed {
                        id: Some(task.id.to_string()),
                        retryable: !error.is_validation(),
                        error: format!("{error}; create it again under the same taskId"),
                    }
                }
            };
            (index, fate)
        });
        futures::stream::iter(inserts)
            .buffer_unordered(parallel)
            .collect()
            .await
    }
}

/// Splits off every task whose id stood before it.
pub(crate) fn split_repeats(tasks: Vec<Indexed>) -> (Vec<Indexed>, Vec<Indexed>) {
    let mut seen = HashSet::new();
    tasks
        .into_iter()
        .partition(|(_, task)| seen.insert(task.id.clone()))
}

fn report(mut fates: Vec<(usize, Fate)>) -> CreateReport {
    fates.sort_by_key(|(index, _)| *index);
    let mut report = CreateReport::default();
    for (index, fate) in fates {
        match fate {
            Fate::Created(task_id) => report.created.push(CreatedTask { index, task_id }),
            Fate::Duplicate(task_id) => report.duplicates.push(CreatedTask { index, task_id }),
            Fate::Failed {
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
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::task::TaskStatus;
    use crate::time::EpochSeconds;

    const NOW: i64 = 1_800_000_000_001;

    struct At(i64);

    impl Clock for At {
        fn now(&self) -> Millis {
            Millis(self.0)
        }
    }

    fn creator(store: &Arc<MemoryStore>) -> Creator {
        let settings = CreateSettings {
            default_ttl: Duration::from_secs(3600),
            max_ttl: Duration::from_secs(7200),
        };
        Creator::new(store.clone(), Arc::new(At(NOW)), settings)
    }

    #[tokio::test]
    async fn a_bad_task_fails_alone_and_names_its_field() {
        let store = Arc::new(MemoryStore::new());
        let specs = [
            json!({"taskId": "good"}),
            json!({"taskId": 7}),
            json!({"taskId": "#processor"}),
            json!({"taskId": "late", "ttlSeconds": 7201}),
            json!({"ttl": 5}),
            json!([]),
            json!({"taskId": "odd", "payload": {"n": 1e300}}),
            json!({}),
            json!({"taskCreated": NOW / 1_000}),
            json!({"taskCreated": NOW + 60_001}),
            json!({"taskCreated": NOW - 3_601_000}),
        ];
        let report = creator(&store).create(&specs).await;
        let created: Vec<_> = report.created.iter().map(|task| task.index).collect();
        assert_eq!(created, [0, 7]);
        let named = [
            "taskId",
            "taskId",
            "ttlSeconds",
            "ttl",
            "object",
            "payload.n",
            "taskCreated is 1800000000; give milliseconds",
            "taskCreated",
            "expired at 1800000000 (epoch seconds), which is past: raise ttlSeconds",
        ];
        assert_eq!(report.failed.len(), named.len());
        for (failed, field) in report.failed.iter().zip(named) {
            assert!(
                failed.error.contains(field),
                "{}: {}",
                failed.index,
                failed.error
            );
        }
        assert_eq!(report.failed[2].task_id.as_deref(), Some("late"));
        assert_eq!(store.records().len(), 2);
    }

    #[tokio::test]
    async fn creating_is_idempotent_and_the_first_of_a_request_wins() {
        let store = Arc::new(MemoryStore::new());
        let specs = [
            json!({"taskId": "a", "payload": 1}),
            json!({"taskId": "a", "payload": 2}),
        ];
        let first = creator(&store).create(&specs).await;
        assert_eq!((first.created[0].index, first.duplicates[0].index), (0, 1));
        let second = creator(&store).create(&specs).await;
        assert_eq!((second.created.len(), second.duplicates.len()), (0, 2));
        let record = store.record(&TaskId::from_stored("a")).unwrap();
        assert_eq!(record.payload, Some(json!(1)));
    }

    #[tokio::test]
    async fn a_task_has_the_age_its_producer_says_and_none_is_from_the_future() {
        let store = Arc::new(MemoryStore::new());
        let specs = [
            json!({"taskId": "old", "taskCreated": NOW - 60_000, "ttlSeconds": 90}),
            json!({"taskId": "ahead", "taskCreated": NOW + 60_000}),
        ];
        let report = creator(&store).create(&specs).await;
        assert_eq!(report.created.len(), 2, "{report:?}");
        let record = |id| store.record(&TaskId::from_stored(id)).unwrap();
        assert_eq!(record("old").created, Millis(NOW - 60_000));
        assert_eq!(
            record("old").ttl,
            Ttl::Seconds(EpochSeconds(1_800_000_001 + 30))
        );
        assert_eq!(record("ahead").created, Millis(NOW));
    }

    #[tokio::test]
    async fn a_delayed_task_is_due_so_long_after_its_creation_and_before_it_expires() {
        let store = Arc::new(MemoryStore::new());
        let specs = [
            json!({"taskId": "now", "delaySeconds": 0}),
            json!({"taskId": "later", "delaySeconds": 3599}),
            json!({"taskId": "aged", "taskCreated": NOW - 10_000, "ttlSeconds": 60, "delaySeconds": 30}),
            json!({"delaySeconds": 3600}),
            json!({"delaySeconds": 60, "ttlSeconds": 60}),
            json!({"delaySeconds": -1}),
            json!({"delaySeconds": 1.5}),
            json!({"delaySeconds": "30"}),
        ];
        let report = creator(&store).create(&specs).await;
        let due = |id| store.record(&TaskId::from_stored(id)).unwrap().not_before;
        assert_eq!(due("now"), None);
        assert_eq!(due("later"), Some(Millis(NOW + 3_599_000)));
        assert_eq!(due("aged"), Some(Millis(NOW + 20_000)));
        let errors: Vec<_> = report.failed.iter().map(|failed| &failed.error).collect();
        assert_eq!(errors.len(), 5);
        assert_eq!(
            *errors[1],
            "delaySeconds is 60; give a whole number of seconds from 0 to 59, because the task expires \
             60 s after its creation: give a smaller delay, or raise ttlSeconds"
        );
        assert!(
            errors
                .iter()
                .all(|error| error.starts_with("delaySeconds is "))
        );
    }

    #[tokio::test]
    async fn a_task_expires_in_epoch_seconds() {
        let store = Arc::new(MemoryStore::new());
        let specs = [
            json!({"taskId": "default"}),
            json!({"taskId": "short", "ttlSeconds": 10}),
        ];
        creator(&store).create(&specs).await;
        let record = |id| store.record(&TaskId::from_stored(id)).unwrap();
        assert_eq!(
            record("default").ttl,
            Ttl::Seconds(EpochSeconds(1_800_000_001 + 3_600))
        );
        assert_eq!(
            record("short").ttl,
            Ttl::Seconds(EpochSeconds(1_800_000_011))
        );
        assert_eq!(record("short").status, TaskStatus::Pending);
    }
}
