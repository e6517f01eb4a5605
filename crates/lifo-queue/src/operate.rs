//! Operators' commands: status, pause, resume, redrive, cancel, wake, and circuit breaker commands.

mod bulk;
mod find;
mod groups;
mod pattern;
mod suspects;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

pub use self::bulk::PurgeReport;
pub use self::find::{Find, Found, FoundTask};
pub use self::groups::{GroupDepth, GroupDepths};
pub use self::pattern::error_pattern;
pub use self::suspects::Suspect;
use crate::control::{
    Author, BreakerHold, Control, GroupChange, GroupChanged, OperatorLimit, OperatorLimits, Pause,
};
use crate::depth::{self, Depth};
use crate::notify::WakeReason;
use crate::schema;
use crate::store::{Cancelled, QueueStore, Redrive, Redriven, Seen, StoreError, Written};
use crate::task::{GroupName, TaskId, TaskStatus, truncate_error};
use crate::time::{Clock, Millis};
use crate::wake::{Wake, WakeError, Waker};

/// Maximum number of pending tasks that are read to count superseded states.
const KEYS_READ: usize = 100;

pub struct Operator {
    store: Arc<dyn QueueStore>,
    waker: Waker,
    clock: Arc<dyn Clock>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub now: Millis,
    /// The control item: processor lease, pause, requested wake-ups.
    pub control: Control,
    /// Pending tasks that have not expired.
    pub pending: Depth,
    /// Creation time of the oldest pending task.
    pub oldest_pending: Option<Millis>,
    /// Running tasks, and tasks of crashed processes.
    pub taken: Depth,
    pub failed: Depth,
    /// Keys with pending tasks, and the number of their superseded states.
    pub keys: Keys,
    /// The newest tasks that may have crashed their process.
    pub suspects: Vec<Suspect>,
}

/// Keys among the newest pending tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub tasks: u32,
    /// Total number of states of these keys that were superseded before they ended.
    pub superseded: u64,
    /// Whether every pending task was read.
    pub exact: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedriveReport {
    /// Number of tasks that are PENDING again.
    pub redriven: u32,
    /// Number of tasks that had left FAILURE or were deleted before the redrive reached them.
    pub lost: u32,
    /// Tasks that could not be changed because of an error in their item.
    pub failed: Vec<FailedChange>,
    /// Result of the wake-up request; `None` if no task was redriven.
    pub wake: Option<Wake>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedChange {
    pub task: TaskId,
    pub error: String,
}

/// A command failed. The caller can retry it.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    #[error("DynamoDB request failed")]
    Store(#[from] StoreError),
    /// The command is done, but no processor could be woken. The sweep wakes one within a minute.
    #[error("the command is done, but no processor was woken; the sweep wakes one within a minute")]
    Wake(#[from] WakeError),
}

impl Operator {
    pub fn new(store: Arc<dyn QueueStore>, waker: Waker, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            waker,
            clock,
        }
    }

    /// Reads the state of the queue. Requires up to about 20 index pages per count, and the items
    /// of up to 100 tasks.
    pub async fn status(&self) -> Result<Status, StoreError> {
        let status = self.glance().await?;
        Ok(Status {
            keys: self.keys().await?,
            suspects: self.suspects(&status.control, status.now).await?,
            ..status
        })
    }

    /// Like [`status`](Self::status), but omits the keys and the suspects, so it doesn't read any
    /// task items.
    pub async fn glance(&self) -> Result<Status, StoreError> {
        self.measure(self.store.control().await?).await
    }

    /// Counts the tasks, for a control item that was just read.
    pub async fn measure(&self, control: Control) -> Result<Status, StoreError> {
        let (store, now) = (&*self.store, self.clock.now());
        Ok(Status {
            now,
            control,
            pending: depth::measure(store, TaskStatus::Pending, None, now).await?,
            oldest_pending: depth::oldest(store, None, now).await?,
            taken: depth::measure(store, TaskStatus::Taken, None, now).await?,
            failed: depth::measure(store, TaskStatus::Failure, None, now).await?,
            keys: Keys::default(),
            suspects: Vec::new(),
        })
    }

    /// Reads the items of the newest pending tasks, because the index does not count superseded
    /// states.
    pub async fn keys(&self) -> Result<Keys, StoreError> {
        let found = self
            .find(&Find::newest(TaskStatus::Pending, KEYS_READ))
            .await?;
        let keyed = |task: &&FoundTask| task.text(schema::TASK_VERSION).is_some();
        let mut keys = Keys {
            exact: found.next.is_none(),
            ..Keys::default()
        };
        for task in found.tasks.iter().filter(keyed) {
            keys.tasks += 1;
            let superseded = task.number(schema::SUPERSEDED).unwrap_or(0);
            keys.superseded += u64::try_from(superseded).unwrap_or(0);
        }
        Ok(keys)
    }

    /// Pauses the queue for `time` on behalf of `author`; running tasks finish. If the queue
    /// already has a longer pause, keeps that pause and returns [`Written::Lost`].
    ///
    /// # Errors
    /// [`StoreError`]: the queue may or may not be paused.
    pub async fn pause(
        &self,
        time: Duration,
        reason: &str,
        author: &str,
    ) -> Result<Written, StoreError> {
        let now = self.clock.now();
        let pause = Pause {
            until: now.plus(time),
            reason: reason.to_owned(),
            by: Some(Author {
                name: author.to_owned(),
                at: now,
            }),
        };
        self.store.pause(&pause).await
    }

    /// Ends a pause and wakes a processor.
    pub async fn resume(&self) -> Result<Wake, OperateError> {
        self.store.resume().await?;
        Ok(self.wake().await?)
    }

    /// Holds the circuit breaker open for `time`. In that time, only probes start and no result
    /// closes the breaker. Afterward, the next result closes it. Replaces an earlier hold.
    ///
    /// # Errors
    /// [`StoreError`]: the breaker may or may not be held open.
    pub async fn open_breaker(&self, time: Duration, reason: &str) -> Result<(), StoreError> {
        let hold = BreakerHold {
            until: self.clock.now().plus(time),
            reason: reason.to_owned(),
        };
        self.store.hold_breaker(&hold).await
    }

    /// Closes the circuit breaker, whether an operator or a processor opened it, and wakes a
    /// processor.
    pub async fn close_breaker(&self) -> Result<Wake, OperateError> {
        self.store.close_breaker().await?;
        Ok(self.wake().await?)
    }

    /// Replaces the operators' limit on starts; `None` ends it.
    ///
    /// # Errors
    /// [`StoreError`]: the limit may or may not be replaced.
    pub async fn limit(&self, limit: Option<OperatorLimit>) -> Result<(), StoreError> {
        let queue = limit.map(|limit| OperatorLimit {
            reason: truncate_error(&limit.reason).to_owned(),
            ..limit
        });
        self.store.limit(&OperatorLimits { queue }).await
    }

    /// Changes the limit or the pause of one group and wakes a processor, because the group may
    /// start more tasks than before.
    ///
    /// # Errors
    /// [`OperateError`].
    pub async fn change_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
    ) -> Result<GroupChanged, OperateError> {
        let changed = self
            .store
            .change_group(group, change, self.clock.now())
            .await?;
        if changed == GroupChanged::Done {
            self.wake().await?;
        }
        Ok(changed)
    }

    /// Returns a failed task to PENDING with a new expiry after `ttl`, and wakes a processor.
    pub async fn redrive(&self, task: &TaskId, ttl: Duration) -> Result<Redriven, OperateError> {
        let redriven = self.redrive_one(task.clone(), Seen::Any, ttl).await?;
        if redriven == Redriven::Done {
            self.wake().await?;
        }
        Ok(redriven)
    }

    async fn redrive_one(
        &self,
        task: TaskId,
        state: Seen,
        ttl: Duration,
    ) -> Result<Redriven, StoreError> {
        let now = self.clock.now();
        let redrive = Redrive {
            task,
            state,
            expires_at: now.ceil_seconds().plus(ttl),
        };
        self.store.redrive(&redrive, now).await
    }

    /// Deletes a pending task in this state.
    ///
    /// # Errors
    /// [`StoreError`]: the task may or may not be deleted.
    pub async fn cancel(&self, task: &TaskId, state: &Seen) -> Result<Cancelled, StoreError> {
        self.store.cancel(task, state).await
    }

    /// Wakes a processor, unless one is active or the queue is paused.
    pub async fn wake(&self) -> Result<Wake, WakeError> {
        let event = format!("operator-{}", Uuid::new_v4());
        self.waker.request(&event, WakeReason::Operator).await
    }
}
