//! What fell between (rule 8). Every minute the sweep
//!
//! - returns tasks whose lease ran out, because whoever ran them died, or fails them once their
//!   attempts are used up;
//! - looks for a due PENDING task that nobody is awake for, and wakes;
//! - gives foreign writers' tasks a `ttl` that DynamoDB can act on.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::backoff::Backoff;
use crate::notify::WakeReason;
use crate::store::{Candidate, PageQuery, QueueStore, StandingLease, StoreError, Written};
use crate::task::{Reclaim, TaskStatus, Ttl};
use crate::time::{Clock, Millis};
use crate::wake::{Wake, WakeError, Waker};

/// Items of the index evaluated in one read.
const PAGE: u16 = 100;

/// Pages read of each status in one sweep: its work is bounded, and the next comes in a minute.
const MAX_PAGES: u32 = 100;

/// What becomes of the tasks that a sweep finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepSettings {
    /// The expiry of a foreign task without `ttl`, from first sight.
    pub default_ttl: Duration,
    /// Attempts before FAILURE.
    pub max_attempts: u32,
    /// How long a returned task waits: jitter, so that one that kills its process meets other
    /// neighbours the next time.
    pub backoff: Backoff,
    /// How long a FAILURE is kept.
    pub failure_retention: Duration,
    /// How far clocks may differ: a lease counts as run out only so long after its end.
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
    /// Tasks whose lease ran out and that went back to PENDING.
    pub returned: u32,
    /// Tasks whose last lease ran out: FAILURE.
    pub failed: u32,
    /// A due PENDING task was seen.
    pub due: bool,
    /// A processor was woken.
    pub woke: bool,
    /// Foreign tasks whose `ttl` was set or corrected.
    pub adopted: u32,
    /// Whether everything PENDING and TAKEN was seen.
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
    /// # Errors
    /// [`SweepError`]: the sweep is incomplete.
    pub async fn sweep(&self, event: &str) -> Result<SweepReport, SweepError> {
        let mut report = SweepReport::default();
        let saw_taken = self.sweep_taken(&mut report).await?;
        if report.returned > 0 {
            // They are due after a jitter, within the turn of whoever is woken now.
            report.woke = self.waker.request(event, WakeReason::Sweep).await? == Wake::Published;
        }
        let saw_pending = self.sweep_pending(event, &mut report).await?;
        report.complete = saw_taken && saw_pending;
        Ok(report)
    }

    /// Returns or fails tasks whose lease ran out; whether it saw them all.
    async fn sweep_taken(&self, report: &mut SweepReport) -> Result<bool, SweepError> {
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            let query = PageQuery {
                status: TaskStatus::Taken.into(),
                after,
                limit: PAGE,
                now,
            };
            let page = self.store.taken_page(&query).await?;
            report.pages += 1;
            let ran_out =
                |held: &&StandingLease| held.lease.until.plus(self.settings.clock_skew) <= now;
            for held in page.leases.iter().filter(ran_out) {
                self.reclaim(held, now, report).await?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn reclaim(
        &self,
        held: &StandingLease,
        now: Millis,
        report: &mut SweepReport,
    ) -> Result<(), StoreError> {
        let reclaim = if held.attempts >= self.settings.max_attempts {
            let keep_until = now.ceil_seconds().plus(self.settings.failure_retention);
            Reclaim::Fail { keep_until }
        } else {
            let not_before = now.plus(self.settings.backoff.draw(held.attempts));
            Reclaim::Return { not_before }
        };
        if self.store.reclaim(&held.lease, &reclaim, now).await? == Written::Lost {
            return Ok(());
        }
        let status = reclaim.status().name();
        tracing::warn!(task_id = %held.lease.task, attempts = held.attempts, status, "lease ran out");
        match reclaim {
            Reclaim::Return { .. } => report.returned += 1,
            Reclaim::Fail { .. } => report.failed += 1,
        }
        Ok(())
    }

    /// Wakes for a due task and adopts foreign ones; whether it saw everything PENDING.
    async fn sweep_pending(
        &self,
        event: &str,
        report: &mut SweepReport,
    ) -> Result<bool, SweepError> {
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            let query = PageQuery {
                status: TaskStatus::Pending.into(),
                after,
                limit: PAGE,
                now,
            };
            let page = self.store.pending_page(&query).await?;
            report.pages += 1;
            if !report.due && page.candidates.iter().any(|task| is_due(task, now)) {
                report.due = true;
                report.woke = report.woke || self.wake(event, now).await?;
            }
            for task in &page.candidates {
                report.adopted += u32::from(self.adopt(task, now).await?);
            }
            after = page.next;
            if after.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
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
            Ttl::Missing => now.ceil_seconds().plus(self.settings.default_ttl),
            Ttl::Milliseconds(at) => at.floor_seconds(),
            Ttl::Seconds(_) | Ttl::Malformed => return Ok(false),
        };
        Ok(self.store.adopt_ttl(&task.id, task.ttl, ttl).await? == Written::Done)
    }
}

fn is_due(task: &Candidate, now: Millis) -> bool {
    task.not_before.is_none_or(|at| at <= now) && !task.ttl.is_expired(now)
}
