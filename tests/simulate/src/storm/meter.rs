//! The meter of admission: the item `#ingest` beside the simulated control item.

use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::control::{Claim, Control, IdleTurns, Release};
use lifo_queue::observed::{Capacity, Observed};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{AdmissionStore, Counts, Mark, Meter, QueueStore, StoreError};
use simulator::cloud::BEGIN;
use uuid::Uuid;

/// The meter in a store of its own.
pub(super) struct SharedMeter {
    pub(super) item: MemoryStore,
    pub(super) table: Arc<dyn QueueStore>,
}

#[async_trait]
impl AdmissionStore for SharedMeter {
    async fn meter(
        &self,
        counts: Counts,
        mark: Option<Mark>,
    ) -> Result<(Meter, Control), StoreError> {
        let (meter, _) = self.item.meter(counts, mark).await?;
        Ok((meter, self.table.control().await?))
    }
}

impl SharedMeter {
    /// Leaves the state of a storm that lasts for a long time: a known capacity, and `held` tasks.
    pub(super) async fn leave(&self, runs: u32, held: u64) -> Result<(), StoreError> {
        let owner = Uuid::new_v4();
        let claim = Claim {
            owner,
            message_id: "before".to_owned(),
            until: BEGIN,
            rate_full_at: None,
        };
        self.table.acquire(&claim, BEGIN).await?;
        let release = Release {
            owner,
            if_requested_is: None,
            idle_turns: IdleTurns::Reset,
            recovered: true,
            rate_full_at: None,
            breaker: None,
            overloaded_since: None,
            observed: Observed {
                capacity: Some(Capacity::new(f64::from(runs), BEGIN)),
                ..Observed::default()
            },
        };
        self.table.release(&release).await?;
        let mark = Mark {
            at: BEGIN,
            held,
            received: 0,
            admitted: 0,
        };
        self.item.meter(Counts::default(), Some(mark)).await?;
        Ok(())
    }
}
