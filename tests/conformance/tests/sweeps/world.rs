//! A queue for sweeps.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use conformance::{Queue, candidate, insert, new_task, take, take_by, wish};
use lifo_queue::backoff::Backoff;
use lifo_queue::store::{QueueStore, TakeRequest};
use lifo_queue::sweep::{FailedSweep, SweepReport, SweepSettings, Sweeper};
use lifo_queue::task::TakenTask;
use lifo_queue::time::Clock;

pub(crate) const SETTINGS: SweepSettings = SweepSettings {
    default_ttl: Duration::from_secs(3_600),
    expiry_bound: None,
    overload_reach: None,
    max_attempts: 2,
    backoff: Backoff {
        base: Duration::from_secs(1),
        max: Duration::from_secs(60),
    },
    failure_retention: Duration::from_secs(600),
    groups: false,
    clock_skew: Duration::from_secs(2),
};

/// The duration of a lease from `conformance::wish`.
pub(crate) const LEASE: Duration = Duration::from_secs(40);

pub(crate) struct World(Queue);

impl Deref for World {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.0
    }
}

impl World {
    pub(crate) fn start() -> Self {
        Self(Queue::start())
    }

    pub(crate) async fn sweep(&self) -> SweepReport {
        self.sweep_on(self.store.clone()).await.unwrap()
    }

    /// Sweeps a queue with groups.
    pub(crate) async fn sweep_with_groups(&self) -> SweepReport {
        self.sweep_of(self.store.clone(), true).await.unwrap()
    }

    pub(crate) async fn sweep_on(
        &self,
        store: Arc<dyn QueueStore>,
    ) -> Result<SweepReport, FailedSweep> {
        self.sweep_of(store, false).await
    }

    pub(crate) async fn sweep_of(
        &self,
        store: Arc<dyn QueueStore>,
        groups: bool,
    ) -> Result<SweepReport, FailedSweep> {
        let (waker, clock) = (self.waker_on(store.clone()), self.clock.clone());
        let event = self.clock.now().0.to_string();
        let settings = SweepSettings { groups, ..SETTINGS };
        Sweeper::new(store, waker, clock, settings)
            .sweep(&event)
            .await
    }

    /// Adds taken tasks whose leases have expired, and one due task.
    pub(crate) async fn with_stranded(self, stranded: u32) -> Self {
        for n in 0..stranded {
            let id = format!("t{n}");
            self.store.insert(&new_task(&id, n.into())).await.unwrap();
            take(&*self.store, &id).await;
        }
        insert(&*self.store, &["due"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        self
    }

    /// Takes a task now, with a full lease.
    pub(crate) async fn take(&self, id: &str, alone: bool) -> TakenTask {
        let now = self.clock.now();
        let request = TakeRequest {
            now,
            lease_until: now.plus(LEASE),
            alone,
            ..wish(candidate(id))
        };
        take_by(&*self.store, &request).await
    }
}
