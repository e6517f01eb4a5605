//! What fell between (rule 8). Every minute the sweep
//!
//! - returns tasks whose lease ran out, because whoever ran them died, or fails them once their
//!   attempts are used up;
//! - looks for a due PENDING task that nobody is awake for, and wakes;
//! - gives foreign writers' tasks a `ttl` that DynamoDB can act on;
//! - measures how many tasks wait, and how old the oldest is.

mod leases;
mod pending;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::backoff::Backoff;
use crate::depth::Depth;
use crate::notify::WakeReason;
use crate::store::{QueueStore, StoreError};
use crate::time::Clock;
use crate::wake::{Wake, WakeError, Waker};

/// Items of the index evaluated in one read.
const PAGE: u16 = 1_000;

/// Pages read of each status in one sweep: its work is bounded, and the next comes in a minute.
const MAX_PAGES: u32 = 100;

/// What becomes of the tasks that a sweep finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepSettings {
    /// The expiry of a foreign task without `ttl`, from first sight.
    pub default_ttl: Duration,
    /// No task outlives its creation by more than this, and nobody else writes tasks; `None`
    /// where that is not promised.
    pub expiry_bound: Option<Duration>,
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
    /// The queue is paused.
    pub paused: bool,
    /// Whether everything PENDING and TAKEN was seen.
    pub complete: bool,
    /// What waits: expired tasks do not count.
    pub pending: Depth,
    /// Age of the oldest task that waits, in milliseconds.
    pub oldest_pending_ms: Option<u64>,
    /// Leases that stand, run out or not.
    pub taken: Depth,
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
        let control = self.store.control().await?;
        report.paused = control.is_paused(self.clock.now());
        self.sweep_taken(&mut report).await?;
        if report.returned > 0 {
            // They are due after a jitter, within the turn of whoever is woken now.
            report.woke = self.waker.request(event, WakeReason::Sweep).await? == Wake::Published;
        }
        self.sweep_pending(event, &control, &mut report).await?;
        report.complete = report.taken.exact && report.pending.exact;
        Ok(report)
    }
}
