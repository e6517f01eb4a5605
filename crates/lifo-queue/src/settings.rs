//! Parses settings from JSON, converts units and checks minimums.
//!
//! The defaults and the rules between settings are in `infra/`. The checks here protect the core
//! from unusable values.

use std::fmt::Display;
use std::time::Duration;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serializer};

/// Maximum duration that the core accepts: 1,000 years. Synthesis accepts up to 100 years.
const LONGEST_MS: u64 = 1_000 * 365 * 86_400_000;

/// Reads a duration in milliseconds.
///
/// # Errors
/// If the number is not whole, is negative or exceeds 1,000 years.
pub fn ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let millis = u64::deserialize(deserializer)?;
    if millis > LONGEST_MS {
        let error = format!("{millis} is too long: give at most {LONGEST_MS}, 1,000 years");
        return Err(D::Error::custom(error));
    }
    Ok(Duration::from_millis(millis))
}

/// Reads a duration of at least 1 millisecond.
pub fn positive_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    at_least(ms(deserializer)?, Duration::from_millis(1), 1)
}

/// Reads an optional duration of at least 1 millisecond. The field also requires `#[serde(default)]`.
pub fn optional_ms<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    positive_ms(deserializer).map(Some)
}

/// Writes a duration in nanoseconds, up to 584 years.
pub(crate) fn nanos<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Reads a duration in nanoseconds, at least 1.
///
/// # Errors
/// If the number is 0, negative or not whole.
pub(crate) fn positive_nanos<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    positive(deserializer).map(Duration::from_nanos)
}

/// Reads a whole number of at least 1.
///
/// # Errors
/// If the value is 0 or not a number of this type.
pub fn positive<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: Deserialize<'de> + PartialOrd + From<u8>,
{
    at_least(N::deserialize(deserializer)?, N::from(1), 1)
}

/// Reads a share from 0 to 1.
///
/// # Errors
/// If the number is below 0 or above 1.
pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    let error = format!("{share} is not a share: give a number from 0 to 1");
    Err(D::Error::custom(error))
}

/// Default for an optional share: 1.
pub(crate) fn all() -> f64 {
    1.0
}

/// Reads a rate in starts per second and converts it to the time between two starts.
///
/// # Errors
/// If the rate is outside the range from one per 1,000 years to one per nanosecond.
pub(crate) fn interval_of_rate<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let rate = f64::deserialize(deserializer)?;
    let longest = Duration::from_millis(LONGEST_MS);
    Duration::try_from_secs_f64(rate.recip())
        .ok()
        .filter(|interval| !interval.is_zero() && *interval <= longest)
        .ok_or_else(|| D::Error::custom(format!("{rate} is not a rate: give a number above 0")))
}

fn at_least<T: PartialOrd, E: Error>(value: T, least: T, text: impl Display) -> Result<T, E> {
    if value < least {
        return Err(E::custom(format!("0 is too little: give at least {text}")));
    }
    Ok(value)
}
