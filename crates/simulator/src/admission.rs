//! The admission meter, with a simulated table.

use std::sync::Arc;

use async_trait::async_trait;
use lifo_queue::control::Control;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{AdmissionStore, Counts, Mark, Meter, QueueStore, StoreError};

/// A meter whose `#ingest` item is in its own store, separate from a table's control item.
#[derive(Clone)]
pub struct SharedMeter {
    /// Store of the `#ingest` item.
    pub item: Arc<MemoryStore>,
    /// Store of the control item.
    pub table: Arc<dyn QueueStore>,
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
