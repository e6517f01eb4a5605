//! One breaker for all parts of a turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Breaker;

/// The breaker of a turn: its loop, its attempts and its heartbeat share it.
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
