//! Limits and pauses of retries.

use std::time::Duration;

use backon::ExponentialBuilder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Maximum number of retries after conflicts.
    pub repeats: usize,
    /// First pause. Each further pause is twice as long, with jitter.
    pub shortest: Duration,
    /// Maximum pause after a conflict.
    pub longest: Duration,
    /// Maximum number of retries after throttling or a missing response.
    pub failures: usize,
    /// Maximum pause after throttling or a missing response, before jitter.
    pub slowest: Duration,
}

impl Default for Patience {
    /// After conflicts, the pauses total about three seconds. A transaction takes about ten
    /// milliseconds, and during much longer pauses, other transactions would change the items.
    /// DynamoDB throttles a partition until its load decreases, so the pauses after throttling grow
    /// to seconds and total about 25 seconds.
    fn default() -> Self {
        Self {
            repeats: 60,
            shortest: Duration::from_millis(8),
            longest: Duration::from_millis(32),
            failures: 12,
            slowest: Duration::from_secs(4),
        }
    }
}

impl Patience {
    pub(crate) fn after_conflicts(&self) -> ExponentialBuilder {
        self.growing(self.longest, self.repeats)
    }

    /// Returns the pauses after throttling or a missing response.
    pub(crate) fn after_failures(&self) -> ExponentialBuilder {
        self.growing(self.slowest, self.failures)
    }

    fn growing(&self, longest: Duration, times: usize) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.shortest)
            .with_max_delay(longest)
            .with_max_times(times)
            .with_jitter()
    }
}
