//! The sweep (rule 8). Every minute it
//!
//! - returns tasks whose lease expired, because their process crashed, or fails them once their
//!   attempts are used up;
//! - wakes the queue if a PENDING task is due and no processor is active;
//! - gives direct writers' tasks a `ttl` that DynamoDB can act on;
//! - measures how many tasks wait, and how old the oldest is.

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

/// Items of the index evaluated in one read.
const PAGE: u16 = 1_000;

/// Pages read of each status in one sweep: its work is bounded, and the next comes in a minute.
const MAX_PAGES: u32 = 100;

/// Changes under way at once.
const PARALLEL: usize = 16;

/// After this many changes that DynamoDB throttled or did not answer, the sweep leaves the others
/// to the next one. Each may take 8 s, and the wake-up and the figures must follow in time.
const MAX_UNANSWERED: u32 = 32;

/// How a sweep returns and fails the tasks that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepSettings {
    /// The expiry of a foreign task without `ttl`, from first sight.
    #[serde(rename = "defaultTtlMs", deserialize_with = "positive_ms")]
    pub default_ttl: Duration,
    /// Every task expires at most this long after its creation; `None`
    /// where that is not promised.
    #[serde(rename = "expiryBoundMs", default, deserialize_with = "optional_ms")]
    pub expiry_bound: Option<Duration>,
    /// How old a task is at most that starts while the queue is overloaded; `None` where all do.
    #[serde(rename = "overloadReachMs", default, deserialize_with = "optional_ms")]
    pub overload_reach: Option<Duration>,
    /// Attempts before FAILURE.
    #[serde(deserialize_with = "positive")]
    pub max_attempts: u32,
    /// How long a returned task waits: jitter, so that one that kills its process meets other
    /// neighbours the next time.
    #[serde(rename = "retry")]
    pub backoff: Backoff,
    /// How long a FAILURE is kept.
    #[serde(rename = "failureRetentionMs", deserialize_with = "ms")]
    pub failure_retention: Duration,
    /// How far clocks may differ: a lease counts as expired only this long after its end.
    #[serde(rename = "clockSkewMs", deserialize_with = "ms")]
    pub clock_skew: Duration,
}

/// One sweep.
pub struct Sweeper {
    store: Arc<dyn QueueStore>,
    waker: Waker,
    clock: Arc<dyn Clock>,
    settings: SweepSettings,
}

/// What a sweep saw and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// Index pages read.
    pub pages: u32,
    /// Tasks returned to PENDING after their lease expired.
    pub returned: u32,
    /// Tasks whose last lease expired: FAILURE.
    pub failed: u32,
    /// States of keys that a newer one replaced before a run brought them to their end.
    pub superseded: u32,
    /// A due PENDING task was seen.
    pub due: bool,
    /// A processor was woken.
    pub woke: bool,
    /// Foreign tasks whose `ttl` was set or corrected.
    pub adopted: u32,
    /// Foreign tasks put to FAILURE, because DynamoDB would never delete them.
    pub quarantined: u32,
    /// Tasks that could not be changed; the log names each.
    pub errors: u32,
    /// Of these, changes that DynamoDB throttled or did not answer.
    pub unanswered: u32,
    /// The queue is paused.
    pub paused: bool,
    /// Whether everything PENDING and TAKEN was seen.
    pub complete: bool,
    /// The pending tasks without expired ones.
    pub pending: Depth,
    /// Age of the oldest task that waits, in milliseconds.
    pub oldest_pending_ms: Option<u64>,
    /// Live and expired leases.
    pub taken: Depth,
}

/// A sweep that failed in part, and what it did all the same; the next one comes in a minute.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FailedSweep {
    /// What the sweep saw and did.
    pub report: SweepReport,
    /// Why it failed.
    #[source]
    pub error: SweepError,
}

/// Why a sweep failed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The table could not be read or written.
    #[error("the sweep could not use the table")]
    Store(#[from] StoreError),
    /// Tasks are due, and no processor could be woken.
    #[error("due tasks wait, but the wake-up failed")]
    Wake(#[from] WakeError),
}

impl Sweeper {
    /// A sweeper.
    #[must_use]
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

    /// Sweeps once. Safe to run twice at once: every change is on the condition that what was
    /// seen still stands.
    ///
    /// A task that cannot be changed is counted and logged, and holds up no other. A step that
    /// fails does not keep the others from being tried.
    ///
    /// # Errors
    /// [`FailedSweep`]: the index could not be read, or no processor could be woken.
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
                "a step of the sweep failed too"
            );
        }
        Err(FailedSweep { report, error })
    }

    /// Returned tasks are due after a jitter, within the turn of the processor that is woken now.
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

    /// Makes changes side by side, each to one task. Answers what came of those that worked.
    async fn make<T>(
        &self,
        changes: Vec<impl Future<Output = (TaskId, Result<T, StoreError>)>>,
        report: &mut SweepReport,
    ) -> Vec<T> {
        let mut changes = futures::stream::iter(changes).buffer_unordered(PARALLEL);
        let mut made = Vec::new();
        while report.unanswered < MAX_UNANSWERED
            && let Some((task_id, change)) = changes.next().await
        {
            match change {
                Ok(change) => made.push(change),
                Err(error) => {
                    report.errors += 1;
                    report.unanswered += u32::from(error.is_transient());
                    let error = error_chain::chain(&error);
                    tracing::error!(%task_id, error, "task not changed; the next sweep tries again");
                }
            }
        }
        made
    }
}
