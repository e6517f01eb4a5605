//! One ledger, shared by the parts of a turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Downstream;

/// The ledger of a turn. The loop starts tasks by it, the attempts record the ends of their runs,
/// and the heartbeat writes its state. An attempt needs the ruling at the end of its run, while the
/// loop may be waiting for a page of the index. So the ledger does not belong to the loop alone.
#[derive(Clone, Debug)]
pub(in crate::process) struct SharedDownstream(Arc<Mutex<Downstream>>);

impl SharedDownstream {
    pub(in crate::process) fn new(downstream: Downstream) -> Self {
        Self(Arc::new(Mutex::new(downstream)))
    }

    pub(in crate::process) fn lock(&self) -> MutexGuard<'_, Downstream> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
