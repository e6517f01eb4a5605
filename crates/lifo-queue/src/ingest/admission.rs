//! Admission: in a storm, the ingest sheds tasks that can't run before they expire, instead of
//! writing them.
//!
//! - While no slot is free, the processor publishes its [capacity](crate::observed::Capacity).
//!   Without a recent capacity, every task is admitted.
//! - The item `#ingest` stores the number of tasks that all ingest processes received and admitted,
//!   as a [`Meter`](crate::store::Meter). Each process updates and reads it once per second.
//! - *Held* is the estimated number of admitted tasks that have not run. It grows with each
//!   admitted task and drains at `factor` × capacity. A task is admitted while the queue holds
//!   fewer tasks than can run before *this* task expires, and fewer than `most_held`. Above these
//!   limits, the ingest admits the share of tasks that keeps the number constant.
//! - The decision for a message is made only at its first receive. Tasks with a key or a delay are
//!   always admitted.

mod quota;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aws::error_chain;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

pub(super) use self::quota::Quota;
use super::Delivery;
use crate::settings::positive;
use crate::store::{AdmissionStore, Counts, Mark};
use crate::task::NewTask;
use crate::time::{Clock, Millis};

/// Time between two updates of the meter by one process.
const INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time that a batch waits for the meter.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionSettings {
    /// Number of tasks admitted in a sustained storm, per task that the downstream can run.
    #[serde(deserialize_with = "positive")]
    pub factor: u32,
    #[serde(deserialize_with = "positive")]
    pub most_held: u32,
}

pub(super) struct Admission {
    store: Arc<dyn AdmissionStore>,
    clock: Arc<dyn Clock>,
    settings: AdmissionSettings,
    state: std::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Time of the last update of the meter, whether it succeeded or failed.
    updated: Option<Instant>,
    counts: Counts,
    mark: Option<Mark>,
    quota: Option<Quota>,
}

impl Admission {
    pub(super) fn new(
        store: Arc<dyn AdmissionStore>,
        clock: Arc<dyn Clock>,
        settings: AdmissionSettings,
    ) -> Self {
        Self {
            store,
            clock,
            settings,
            state: std::sync::Mutex::default(),
        }
    }

    /// Returns the quota for a batch; `None` admits every task. Updates the meter at most once per
    /// second. While the meter can't be updated, every task is admitted.
    pub(super) async fn quota(&self) -> Option<Quota> {
        let (counts, mark) = {
            let mut state = self.lock();
            if state.updated.is_some_and(|at| at.elapsed() < INTERVAL) {
                return state.quota;
            }
            state.updated = Some(Instant::now());
            (std::mem::take(&mut state.counts), state.mark)
        };
        let metered = match timeout(PATIENCE, self.store.meter(counts, mark)).await {
            Ok(Ok(metered)) => Some(metered),
            Ok(Err(error)) => {
                let error = error_chain::chain(&error);
                tracing::warn!(error, "item #ingest not updated; admitting all tasks");
                None
            }
            Err(_) => {
                tracing::warn!("item #ingest not updated in time; admitting all tasks");
                None
            }
        };
        let now = self.clock.now();
        let mut state = self.lock();
        state.quota = metered.and_then(|(meter, control)| {
            let (mark, quota) = quota::of(&meter, &control, &self.settings, now);
            state.mark = Some(mark);
            quota
        });
        state.quota
    }

    pub(super) fn note(&self, counts: Counts) {
        let mut state = self.lock();
        state.counts.received += counts.received;
        state.counts.admitted += counts.admitted;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a task in this message is admitted. Every task in a redelivered message is admitted,
/// because the decision is made only at the first receive.
pub(super) fn admits(
    quota: Option<&Quota>,
    task: &NewTask,
    message: &Delivery,
    now: Millis,
    counts: &mut Counts,
) -> bool {
    if message.receives > 1 {
        return true;
    }
    let may_shed = task.keyed.is_none() && task.not_before.is_none();
    counts.received += u64::from(may_shed);
    let admitted = !may_shed || quota.is_none_or(|quota| quota.admits(task, message.sent, now));
    counts.admitted += u64::from(admitted);
    admitted
}
