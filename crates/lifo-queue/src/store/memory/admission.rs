//! The in-memory admission meter.

use async_trait::async_trait;

use super::MemoryStore;
use crate::control::Control;
use crate::store::{AdmissionStore, Counts, Mark, Meter, StoreError};

#[async_trait]
impl AdmissionStore for MemoryStore {
    async fn meter(
        &self,
        counts: Counts,
        mark: Option<Mark>,
    ) -> Result<(Meter, Control), StoreError> {
        let state = &mut *self.lock();
        state.meter.received += counts.received;
        state.meter.admitted += counts.admitted;
        state.meter.mark = mark.or(state.meter.mark);
        Ok((state.meter, state.control.clone()))
    }
}
