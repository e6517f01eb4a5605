//! What fell between: rule 8, the waking half. Every minute the sweep looks for a due PENDING
//! task that nobody is awake for, and gives foreign writers' tasks a `ttl` that DynamoDB can
//! act on.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::notify::WakeReason;
use crate::store::{Candidate, PageQuery, QueueStore, StoreError, Written};
use crate::task::{TaskStatus, Ttl};
use crate::time::{Clock, Millis};
use crate::wake::{Wake, WakeError, Waker};

/// Items of the index evaluated in one read.
const PAGE: u16 = 100;

/// Pages read in one sweep: its work is bounded, and the next one comes in a minute.
const MAX_PAGES: u32 = 100;

/// One sweep.
pub struct Sweeper {
    store: Arc<dyn QueueStore>,
    waker: Waker,
    clock: Arc<dyn Clock>,
    default_ttl: Duration,
}

/// What a sweep saw and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// Index pages read.
    pub pages: u32,
    /// A due PENDING task was seen.
    pub due: bool,
    /// A processor was woken.
    pub woke: bool,
    /// Foreign tasks whose `ttl` was set or corrected.
    pub adopted: u32,
    /// Whether the whole index was seen.
    pub complete: bool,
}

/// A sweep that failed; the next one comes in a minute.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The table could not be read or written.
    #[error("the sweep could not use the table")]
    Store(#[from] StoreError),
    /// Due tasks wait, and nobody could be woken.
    #[error("due tasks wait, but the wake-up failed")]
    Wake(#[from] WakeError),
}

impl Sweeper {
    /// A sweeper. `default_ttl` is for tasks without a `ttl`, counted from when they are first
    /// seen.
    #[must_use]
    pub fn new(
        store: Arc<dyn QueueStore>,
        waker: Waker,
        clock: Arc<dyn Clock>,
        default_ttl: Duration,
    ) -> Self {
        Self {
            store,
            waker,
            clock,
            default_ttl,
        }
    }

    /// Sweeps once. Safe to run twice at once.
    ///
    /// # Errors
    /// [`SweepError`]: the sweep is incomplete.
    pub async fn sweep(&self, event: &str) -> Result<SweepReport, SweepError> {
        let mut report = SweepReport::default();
        let mut after = None;
        loop {
            let now = self.clock.now();
            let status = TaskStatus::Pending.into();
            let query = PageQuery {
                status,
                after,
                limit: PAGE,
                now,
            };
            let page = self.store.pending_page(&query).await?;
            report.pages += 1;
            if !report.due && page.candidates.iter().any(|task| is_due(task, now)) {
                report.due = true;
                report.woke = self.wake(event, now).await?;
            }
            for task in &page.candidates {
                report.adopted += u32::from(self.adopt(task, now).await?);
            }
            after = page.next;
            report.complete = after.is_none();
            if report.complete || report.pages == MAX_PAGES {
                return Ok(report);
            }
        }
    }

    /// Wakes a processor unless one is active: what it will find needs no request.
    async fn wake(&self, event: &str, now: Millis) -> Result<bool, SweepError> {
        let control = self.store.control().await?;
        if control.live_lease(now).is_some() || control.is_paused(now) {
            return Ok(false);
        }
        Ok(self.waker.request(event, WakeReason::Sweep).await? == Wake::Published)
    }

    async fn adopt(&self, task: &Candidate, now: Millis) -> Result<bool, StoreError> {
        let ttl = match task.ttl {
            Ttl::Missing => now.ceil_seconds().plus(self.default_ttl),
            Ttl::Milliseconds(at) => at.floor_seconds(),
            Ttl::Seconds(_) | Ttl::Malformed => return Ok(false),
        };
        Ok(self.store.adopt_ttl(&task.id, task.ttl, ttl).await? == Written::Done)
    }
}

fn is_due(task: &Candidate, now: Millis) -> bool {
    task.not_before.is_none_or(|at| at <= now) && !task.ttl.is_expired(now)
}
