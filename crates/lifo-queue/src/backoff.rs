//! Exponential backoff with full jitter
//! (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).

use std::time::Duration;

use serde::Deserialize;

use crate::settings::ms;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Backoff {
    /// Maximum delay after the first attempt. Doubles with each further attempt.
    #[serde(rename = "baseMs", deserialize_with = "ms")]
    pub base: Duration,
    /// Upper limit on the maximum delay after any attempt.
    #[serde(rename = "maxMs", deserialize_with = "ms")]
    pub max: Duration,
}

impl Backoff {
    /// Returns a random delay after this attempt (1 for the first), from zero to its maximum.
    pub fn draw(&self, attempt: u32) -> Duration {
        self.bound(attempt).mul_f64(fastrand::f64())
    }

    /// Returns a random delay from half of the attempt's maximum to the maximum. Use it if the
    /// number of attempts is limited, because shorter delays would use up the attempts too quickly.
    pub fn draw_upper_half(&self, attempt: u32) -> Duration {
        self.bound(attempt).mul_f64(0.5 + 0.5 * fastrand::f64())
    }

    fn bound(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(30);
        self.base.saturating_mul(1 << doublings).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_delay_doubles_up_to_the_configured_limit() {
        let backoff = Backoff {
            base: Duration::from_secs(1),
            max: Duration::from_secs(300),
        };
        let bounds = [1, 2, 3, 9, 10, 4_000_000_000].map(|n| backoff.bound(n).as_secs());
        assert_eq!(bounds, [1, 2, 4, 256, 300, 300]);
        for attempt in 0..100 {
            let bound = backoff.bound(attempt);
            assert!(backoff.draw(attempt) <= bound);
            let upper = backoff.draw_upper_half(attempt);
            assert!((bound / 2..=bound).contains(&upper), "{upper:?}");
        }
    }
}
