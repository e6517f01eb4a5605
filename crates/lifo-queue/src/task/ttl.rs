//! The expiry of a task in the table.

use std::time::Duration;

use crate::time::{EpochSeconds, Millis};

/// Maximum `ttl` that is interpreted as seconds (year 5138). Larger values are interpreted as
/// milliseconds (1973 and later).
pub const MAX_TTL_SECONDS: i64 = 100_000_000_000;

/// DynamoDB Time to Live (TTL) does not delete items whose `ttl` is over five years in the past
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html>).
pub(crate) const TTL_REACH: Duration = Duration::from_secs(5 * 365 * 86_400);

/// The value of `ttl`. The queue writes epoch seconds. A direct writer may omit it, or write
/// milliseconds or another type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ttl {
    /// No `ttl`: the take or the sweep sets the default expiry, counted from that time.
    #[default]
    Missing,
    /// Epoch seconds, DynamoDB's unit.
    Seconds(EpochSeconds),
    /// Above [`MAX_TTL_SECONDS`]: milliseconds. DynamoDB would keep the item for millennia.
    Milliseconds(Millis),
    /// Not a number: the take is rejected and the task quarantined.
    Malformed,
}

impl Ttl {
    /// Interprets the number in `ttl`.
    #[must_use]
    pub fn from_number(number: i64) -> Self {
        if number > MAX_TTL_SECONDS {
            Self::Milliseconds(Millis(number))
        } else {
            Self::Seconds(EpochSeconds(number))
        }
    }

    /// Whether the expiry is so long ago that DynamoDB never deletes the item. The writer probably
    /// used a duration or another unit by mistake.
    #[must_use]
    pub fn is_never_deleted(self, now: Millis) -> bool {
        matches!(self, Self::Seconds(at) if at < now.minus(TTL_REACH).floor_seconds())
    }

    /// Whether the task may no longer start.
    #[must_use]
    pub fn is_expired(self, now: Millis) -> bool {
        match self {
            Self::Missing | Self::Malformed => false,
            Self::Seconds(at) => at <= now.floor_seconds(),
            Self::Milliseconds(at) => at <= now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_distinguishes_milliseconds_from_seconds() {
        let now = Millis(1_700_000_000_000);
        assert_eq!(
            Ttl::from_number(1_700_000_001),
            Ttl::Seconds(EpochSeconds(1_700_000_001))
        );
        assert_eq!(
            Ttl::from_number(1_700_000_000_001),
            Ttl::Milliseconds(Millis(1_700_000_000_001))
        );
        let latest = Ttl::from_number(MAX_TTL_SECONDS);
        assert_eq!(latest, Ttl::Seconds(EpochSeconds(MAX_TTL_SECONDS)));
        assert!(Ttl::from_number(1_699_999_999).is_expired(now));
        assert!(Ttl::from_number(1_700_000_000).is_expired(now));
        assert!(!Ttl::from_number(1_700_000_001).is_expired(now));
        assert!(Ttl::from_number(1_699_999_999_999).is_expired(now));
        assert!(!Ttl::from_number(1_700_000_000_001).is_expired(now));
        assert!(!Ttl::Missing.is_expired(now));
        let reach = now.floor_seconds().0 - 5 * 365 * 86_400;
        assert!(Ttl::from_number(reach - 1).is_never_deleted(now));
        assert!(!Ttl::from_number(reach).is_never_deleted(now));
        assert!(!Ttl::Missing.is_never_deleted(now));
    }
}
