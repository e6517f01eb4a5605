//! Clocks with a fixed error.

use lifo_queue::time::{Clock, Millis, TokioClock};

/// A clock that runs ahead of or behind the cloud's own clock.
#[derive(Clone, Copy, Debug)]
pub struct SkewedClock {
    base: TokioClock,
    /// Milliseconds ahead of the cloud's clock; negative if behind.
    ahead_ms: i64,
}

impl SkewedClock {
    /// Creates a clock that is `ahead_ms` milliseconds ahead of `base`.
    pub fn new(base: TokioClock, ahead_ms: i64) -> Self {
        Self { base, ahead_ms }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Millis {
        Millis(self.base.now().0.saturating_add(self.ahead_ms))
    }
}
