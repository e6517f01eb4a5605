//! One breaker, shared by all parts of a turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Breaker;

/// The breaker of a turn. The loop, the attempts and the heartbeat share it.
#[derive(Clone, Debug)]
pub(in crate::process) struct SharedBreaker(Arc<Mutex<Breaker>>);

impl SharedBreaker {
    pub(in crate::process) fn new(breaker: Breaker) -> Self {
        Self(Arc::new(Mutex::new(breaker)))
    }

    pub(in crate::process) fn lock(&self) -> MutexGuard<'_, Breaker> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
