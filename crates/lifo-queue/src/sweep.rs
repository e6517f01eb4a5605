//! The sweep (rule 8). Every minute, it:
//!
//! - returns tasks whose lease expired because their process crashed, or fails them once their
//!   attempts are used up;
//! - wakes the queue if a PENDING task is due and no processor is active;
//! - sets or corrects the `ttl` of direct writers' tasks, so that DynamoDB deletes them in time;
//! - measures the number of pending tasks and the age of the oldest.

mod foreign;
mod leases;
mod pending;

use std::sync::Arc;
use std::time::Duration;

use aws::error_chain;
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::depth::Depth;
use crate::notify::WakeReason;
use crate::settings::{ms, optional_ms, positive, positive_ms};
use crate::store::{QueueStore, StoreError};
use crate::task::TaskId;
use crate::time::Clock;
use crate::wake::{Wake, WakeError, Waker};

/// Maximum number of index items evaluated per read.
const PAGE: u16 = 1_000;

/// Maximum number of index pages that one sweep reads per status. The next sweep starts in a
/// minute.
const MAX_PAGES: u32 = 100;

const PARALLEL: usize = 16;

/// Maximum number of changes that DynamoDB throttles or does not respond to. After that many, the
/// sweep leaves the remaining changes to the next sweep. Each change can take 8 s, and this sweep
/// must still wake the queue and report.
const MAX_TRANSIENT_ERRORS: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepSettings {
    /// Time from the sweep that finds a direct writer's task without `ttl` to the task's expiry.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// Maximum time from a task's creation to its expiry; `None` if the queue does not guarantee a
    /// maximum.
    #[serde(rename = "expiryBoundMs", default, deserialize_with = "optional_ms")]
    pub expiry_bound: Option<Duration>,
    /// Maximum age of tasks that start under overload; `None` if tasks of any age start.
    #[serde(rename = "overloadReachMs", default, deserialize_with = "optional_ms")]
    pub overload_reach: Option<Duration>,
    /// Maximum number of attempts before FAILURE.
    #[serde(deserialize_with = "positive")]
    pub max_attempts: u32,
    /// Backoff of a returned task. Its jitter separates a task that crashes its process from the
    /// tasks that ran with it.
    #[serde(rename = "retry")]
    pub backoff: Backoff,
    /// Retention of tasks that the sweep fails.
    #[serde(rename = "failureRetentionMs", deserialize_with = "ms")]
    pub failure_retention: Duration,
    /// Whether the queue has groups. Tasks of closed groups are not due.
    #[serde(default)]
    pub groups: bool,
    /// Maximum difference between clocks. A lease counts as expired only after this additional time.
    #[serde(rename = "clockSkewMs", deserialize_with = "ms")]
    pub clock_skew: Duration,
}

pub struct Sweeper {
    store: Arc<dyn QueueStore>,
    waker: Waker,
    clock: Arc<dyn Clock>,
    settings: SweepSettings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    pub pages: u32,
    /// Number of tasks returned to PENDING after their lease expired.
    pub returned: u32,
    /// Number of tasks that became FAILURE because the lease of their last attempt expired.
    pub failed: u32,
    /// Number of key states superseded by a newer state before a run settled them.
    pub superseded: u32,
    /// Whether a PENDING task was due.
    pub due: bool,
    /// Whether the sweep published a notification.
    pub woke: bool,
    /// Number of direct writers' tasks whose `ttl` the sweep set or corrected.
    pub adopted: u32,
    /// Number of direct writers' tasks that became FAILURE because DynamoDB would never delete them.
    pub quarantined: u32,
    /// Number of tasks that could not be changed. The log names each of them.
    pub errors: u32,
    /// Number of tasks in `errors` whose change DynamoDB throttled or did not respond to.
    pub transient_errors: u32,
    pub paused: bool,
    /// Whether `pending` and `taken` are exact and no change failed.
    pub complete: bool,
    /// Number of unexpired pending tasks. Under overload, excludes tasks that are too old to start.
    pub pending: Depth,
    /// Age of the oldest pending task, in milliseconds; `None` if there is none.
    pub oldest_pending_ms: Option<u64>,
    /// Number of leases of TAKEN tasks, live and expired.
    pub taken: Depth,
}

/// A sweep with a failed step. The next sweep starts in a minute.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FailedSweep {
    pub report: SweepReport,
    /// The first failure. The log contains the others.
    #[source]
    pub error: SweepError,
}

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("a DynamoDB request of the sweep failed")]
    Store(#[from] StoreError),
    #[error("tasks are due, but the wake-up failed")]
    Wake(#[from] WakeError),
}

impl Sweeper {
    pub fn new(
        store: Arc<dyn QueueStore>,
        waker: Waker,
        clock: Arc<dyn Clock>,
        settings: SweepSettings,
    ) -> Self {
        Self {
            store,
            waker,
            clock,
            settings,
        }
    }

    /// Sweeps once. Two sweeps can run concurrently, because every change is conditional on the
    /// state that the sweep read.
    ///
    /// The sweep counts and logs a task that it can't change, and continues with the next task.
    /// After a failed step, it still tries the remaining steps.
    ///
    /// # Errors
    /// [`FailedSweep`] if the control item or the index could not be read, or the wake-up failed.
    pub async fn sweep(&self, event: &str) -> Result<SweepReport, FailedSweep> {
        let mut report = SweepReport::default();
        let control = match self.store.control().await {
            Ok(control) => control,
            Err(error) => {
                let error = error.into();
                return Err(FailedSweep { report, error });
            }
        };
        report.paused = control.is_paused(self.clock.now());
        let taken = self
            .sweep_taken(&mut report)
            .await
            .map_err(SweepError::from);
        let woken = self.wake_for_returned(event, &mut report).await;
        let pending = self.sweep_pending(event, &control, &mut report).await;
        report.complete = report.taken.exact && report.pending.exact && report.errors == 0;
        let mut errors = [taken, woken, pending].into_iter().filter_map(Result::err);
        let Some(error) = errors.next() else {
            return Ok(report);
        };
        for other in errors {
            tracing::error!(
                error = error_chain::chain(&other),
                "another step of the sweep failed"
            );
        }
        Err(FailedSweep { report, error })
    }

    /// Wakes the queue for returned tasks. These tasks become due after their backoff, within the
    /// turn that starts now.
    async fn wake_for_returned(
        &self,
        event: &str,
        report: &mut SweepReport,
    ) -> Result<(), SweepError> {
        if report.returned > 0 {
            report.woke = self.waker.request(event, WakeReason::Sweep).await? == Wake::Published;
        }
        Ok(())
    }

    /// Makes changes concurrently, one per task. Returns the results of the successful changes.
    async fn make<T>(
        &self,
        changes: Vec<impl Future<Output = (TaskId, Result<T, StoreError>)>>,
        report: &mut SweepReport,
    ) -> Vec<T> {
        let mut changes = futures::stream::iter(changes).buffer_unordered(PARALLEL);
        let mut made = Vec::new();
        while report.transient_errors < MAX_TRANSIENT_ERRORS
            && let Some((task_id, change)) = changes.next().await
        {
            match change {
                Ok(change) => made.push(change),
                Err(error) => {
                    report.errors += 1;
                    report.transient_errors += u32::from(error.is_transient());
                    let error = error_chain::chain(&error);
                    tracing::error!(%task_id, error, "task not changed; the next sweep retries");
                }
            }
        }
        made
    }
}
