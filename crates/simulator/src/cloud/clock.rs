//! Clocks that are wrong by a fixed amount.

use std::time::Duration;

use lifo_queue::time::{Clock, Millis, TokioClock};

/// A clock that runs ahead of the cloud's own, or behind it.
#[derive(Clone, Copy, Debug)]
pub struct SkewedClock {
    base: TokioClock,
    /// How far it is ahead, in milliseconds.
    ahead_ms: i64,
}

impl SkewedClock {
    /// A clock that is `ahead_ms` milliseconds ahead of `base`.
    #[must_use]
    pub fn new(base: TokioClock, ahead_ms: i64) -> Self {
        Self { base, ahead_ms }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Millis {
        Millis(self.base.now().0.saturating_add(self.ahead_ms))
    }
}

/// Waits in virtual time; a wait of nothing does not even yield.
pub(crate) async fn pause(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}
