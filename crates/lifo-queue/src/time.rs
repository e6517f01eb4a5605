//! Points in time, and clocks.
//!
//! Milliseconds and epoch seconds are different types because one item has both: `taskCreated` is
//! in milliseconds, while DynamoDB's time to live interprets `ttl` as epoch seconds
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html>).
//! A queue that writes `ttl` in milliseconds never sheds a task.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Millis(pub i64);

/// Whole seconds since the Unix epoch: DynamoDB's unit for `ttl`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct EpochSeconds(pub i64);

impl Millis {
    /// The latest point in time.
    pub const MAX: Self = Self(i64::MAX);

    /// This time plus a duration; saturates.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(as_millis(duration)))
    }

    /// This time minus a duration; saturates.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(as_millis(duration)))
    }

    /// The time from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// This time, rounded down to whole seconds.
    pub fn floor_seconds(self) -> EpochSeconds {
        EpochSeconds(self.0.div_euclid(1000))
    }

    /// This time, rounded up to whole seconds.
    pub fn ceil_seconds(self) -> EpochSeconds {
        EpochSeconds(self.0.saturating_add(999).div_euclid(1000))
    }
}

impl EpochSeconds {
    /// The first millisecond of this second.
    pub fn millis(self) -> Millis {
        Millis(self.0.saturating_mul(1000))
    }

    /// This time plus a duration that is rounded down to whole seconds; saturates.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)),
        )
    }
}

fn as_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A clock. All code in this crate that compares times uses a `Clock`, so that a test can set the
/// time. Delays use tokio's clock, which a test can pause.
pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let elapsed = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Millis(as_millis(elapsed))
    }
}

/// A clock that starts at a given time and advances with tokio's clock. While tokio's clock is paused
/// (`tokio::time::pause`), tests that span minutes run in milliseconds and are deterministic.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Millis,
    started: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that starts at `origin`.
    pub fn starting_at(origin: Millis) -> Self {
        Self {
            origin,
            started: tokio::time::Instant::now(),
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Millis {
        self.origin.plus(self.started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_convert_to_rounded_seconds_and_back() {
        assert_eq!(Millis(1_999).floor_seconds(), EpochSeconds(1));
        assert_eq!(Millis(1_001).ceil_seconds(), EpochSeconds(2));
        assert_eq!(Millis(2_000).ceil_seconds(), EpochSeconds(2));
        assert_eq!(EpochSeconds(2).millis(), Millis(2_000));
        assert_eq!(Millis(-1).floor_seconds(), EpochSeconds(-1));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(
            Millis(i64::MAX).plus(Duration::from_secs(1)),
            Millis(i64::MAX)
        );
        assert_eq!(Millis(5).since(Millis(9)), Duration::ZERO);
        assert_eq!(EpochSeconds(i64::MAX).millis(), Millis(i64::MAX));
    }
}
