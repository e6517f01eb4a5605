//! Times in microseconds, and the clock.
//!
//! A position in a queue is a sort key, and DynamoDB compares sort keys byte by byte
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.DataTypes.String>).
//! Times therefore have a fixed width; otherwise, 9 would follow 10.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

/// Microseconds since the Unix epoch, from 1970 to 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

/// The latest time that fits the fixed width: the end of the year 9999.
const LAST: u64 = 253_402_300_799_999_999;

impl Micros {
    /// Returns this time plus a duration, limited to the end of the year 9999.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(as_micros(duration)).min(LAST))
    }

    /// Returns this time minus a duration, limited to the epoch.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(as_micros(duration)))
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Converts milliseconds since the epoch, the format of AWS services.
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000).min(LAST))
    }

    /// Parses the text that [`Display`](fmt::Display) writes; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = humantime::parse_rfc3339(text).ok()?;
        let elapsed = moment.duration_since(UNIX_EPOCH).ok()?;
        Some(Self(as_micros(elapsed).min(LAST)))
    }
}

/// Writes RFC 3339 in UTC with six decimals: 27 characters, which sort by time.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = UNIX_EPOCH + Duration::from_micros(self.0.min(LAST));
        write!(f, "{}", humantime::format_rfc3339_micros(moment))
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn as_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The source of the current time. All comparisons of [`Micros`] with the current time use it, so
/// that a test can set it. Pauses and deadlines use tokio's time, which a test can pause.
pub trait Clock: Send + Sync {
    fn now(&self) -> Micros;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
        Micros(as_micros(elapsed.unwrap_or_default()).min(LAST))
    }
}

/// A clock that starts at a given time and advances with tokio's time. While tokio's time is paused
/// (`tokio::time::pause`), tests simulate minutes in milliseconds, always with the same result.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Micros,
    started: tokio::time::Instant,
}

impl TokioClock {
    /// Creates a clock whose current time is `origin`.
    pub fn starting_at(origin: Micros) -> Self {
        Self {
            origin,
            started: tokio::time::Instant::now(),
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Micros {
        self.origin.plus(self.started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timestamps_sort_like_their_texts(a in 0..=LAST, b in 0..=LAST) {
            let (a, b) = (Micros(a), Micros(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(a.to_string().len(), 27);
            prop_assert_eq!(Micros::parse(&a.to_string()), Some(a));
        }
    }

    #[test]
    fn timestamp_is_rfc_3339_with_six_decimals() {
        assert_eq!(Micros(1).to_string(), "1970-01-01T00:00:00.000001Z");
        assert_eq!(Micros(LAST).to_string(), "9999-12-31T23:59:59.999999Z");
        assert_eq!(Micros::from_millis(5), Micros(5_000));
        assert_eq!(Micros::parse("yesterday"), None);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Micros(LAST).plus(Duration::from_secs(1)), Micros(LAST));
        assert_eq!(Micros(5).minus(Duration::from_secs(1)), Micros(0));
        assert_eq!(Micros(5).since(Micros(9)), Duration::ZERO);
    }
}
