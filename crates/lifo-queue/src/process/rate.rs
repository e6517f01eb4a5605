//! The rate limit: the maximum number of starts per second, across turns.
//!
//! The token bucket comes from the `governor` crate (GCRA) and exists for one turn. The control
//! item stores the time at which the bucket is full again, and the next turn accounts for the
//! refill since then. While a turn owns the processor lease, the item contains the latest such time
//! that the turn can cause. A crashed turn therefore leaves an empty bucket, never a full one.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use serde::Deserialize;

use crate::settings::interval_of_rate;
use crate::time::{Clock, Millis};

/// The limit on task starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct RateLimit {
    /// Average time between two starts; not zero. The JSON value is in starts per second.
    #[serde(rename = "perSecond", deserialize_with = "interval_of_rate")]
    pub interval: Duration,
    /// Maximum number of immediate starts after an idle period, which is the size of the bucket.
    pub burst: NonZeroU32,
}

impl RateLimit {
    /// Returns the lower of the configured rate and an operator's rate with this interval. The
    /// bucket holds one second of starts at the operator's rate, up to the configured burst.
    pub(super) fn lowered(setting: Option<Self>, interval: Duration) -> Self {
        let (second, interval_ns) = (1_000_000_000, interval.as_nanos().max(1));
        let whole = second / interval_ns;
        // An interval in whole nanoseconds may be too short by less than 1. The remainder of these
        // fractions is not another start: 3 starts per second are three, not four.
        let a_second = whole + u128::from(second % interval_ns > whole);
        let a_second = u32::try_from(a_second).unwrap_or(u32::MAX);
        let burst = NonZeroU32::new(a_second).unwrap_or(NonZeroU32::MIN);
        match setting {
            Some(setting) => Self {
                interval: interval.max(setting.interval),
                burst: burst.min(setting.burst),
            },
            None => Self { interval, burst },
        }
    }

    /// Time for an empty bucket to become full.
    pub(super) fn refill(&self) -> Duration {
        self.interval.saturating_mul(self.burst.get())
    }

    /// The latest time at which the bucket is full again if a turn grants every start until `end`.
    pub(super) fn worst(&self, end: Millis) -> Millis {
        whole_millis(since_epoch(end).saturating_add(self.refill()))
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Epoch, NoOpMiddleware<Duration>>;

/// State of the rate limit within one turn.
pub(super) struct Rate {
    bucket: Option<Bucket>,
    /// Whether a start has been granted but not used yet.
    permit: bool,
    /// Whether a start had to wait.
    pub(super) waited: bool,
}

struct Bucket {
    limit: RateLimit,
    limiter: Limiter,
    clock: Arc<dyn Clock>,
    /// Time since the epoch at which the bucket is full again, exact to the nanosecond. If the
    /// interval were truncated to milliseconds, each start would cost too little.
    full_at: Duration,
}

/// The clock for governor. Returns the time since the epoch, or the time in [`Hold`] if it is set.
struct Epoch {
    clock: Arc<dyn Clock>,
    hold: Hold,
}

/// A fixed time for the clock; `None` if the clock runs.
type Hold = Arc<Mutex<Option<Duration>>>;

pub(super) fn since_epoch(moment: Millis) -> Duration {
    moment.since(Millis(0))
}

/// Rounds a time since the epoch up to a whole millisecond.
pub(super) fn whole_millis(since_epoch: Duration) -> Millis {
    Millis(0).plus(since_epoch.saturating_add(Duration::from_nanos(999_999)))
}

impl GovernorClock for Epoch {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let held = *self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        held.unwrap_or_else(|| since_epoch(self.clock.now()))
    }
}

impl Rate {
    /// Starts the limit for a turn that begins now. The previous turn left the value `full_at`.
    pub(super) fn start(
        limit: Option<RateLimit>,
        full_at: Option<Millis>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let bucket = limit.and_then(|limit| Bucket::start(limit, full_at, clock));
        Self {
            bucket,
            permit: false,
            waited: false,
        }
    }

    /// Changes the limit. Keeps the time at which the bucket is full again, within the new limit.
    pub(super) fn change(&mut self, limit: Option<RateLimit>, clock: Arc<dyn Clock>) {
        let changed = Self::start(limit, self.full_at(), clock);
        let waited = self.waited;
        *self = Self { waited, ..changed };
    }

    /// Requests one start. The error is the earliest time for the next request. A granted start
    /// stays granted until it is used.
    pub(super) fn grant(&mut self, now: Millis) -> Result<(), Millis> {
        let Some(bucket) = self.bucket.as_mut().filter(|_| !self.permit) else {
            return Ok(());
        };
        bucket.follow_clock();
        if let Err(too_early) = bucket.limiter.check() {
            self.waited = true;
            // Round up to a whole millisecond. Otherwise, each request would be too early.
            let wait = too_early.wait_time_from(since_epoch(now));
            return Err(now.plus(wait + Duration::from_millis(1)));
        }
        let full_at = bucket.full_at.max(since_epoch(now));
        bucket.full_at = full_at.saturating_add(bucket.limit.interval);
        self.permit = true;
        Ok(())
    }

    /// Records that the granted start was used.
    pub(super) fn used(&mut self) {
        self.permit = false;
    }

    /// Time at which the bucket is full again, rounded up to a millisecond; `None` without a limit.
    /// A granted start that was not used does not count.
    pub(super) fn full_at(&self) -> Option<Millis> {
        let bucket = self.bucket.as_ref()?;
        Some(whole_millis(match self.permit {
            true => bucket.full_at.saturating_sub(bucket.limit.interval),
            false => bucket.full_at,
        }))
    }
}

impl Bucket {
    fn start(limit: RateLimit, full_at: Option<Millis>, clock: Arc<dyn Clock>) -> Option<Self> {
        let now = since_epoch(clock.now());
        let empty = now.saturating_add(limit.refill());
        // Never assume less than an empty bucket: a clock that was ahead must not stop the queue.
        let full_at = full_at.map_or(now, since_epoch).clamp(now, empty);
        let quota = Quota::with_period(limit.interval)?.allow_burst(limit.burst);
        let missing = full_at
            .saturating_sub(now)
            .as_nanos()
            .div_ceil(limit.interval.as_nanos());
        let missing = u32::try_from(missing).map_or(limit.burst, |n| {
            NonZeroU32::new(n).map_or(NonZeroU32::MIN, |n| n.min(limit.burst))
        });
        // Only whole starts can be removed from governor's bucket, but `full_at` lies between two.
        // Remove them at `then`, the time from which `missing` starts lead exactly to `full_at`.
        let then = full_at.saturating_sub(limit.interval.saturating_mul(missing.get()));
        let hold = Hold::new(Mutex::new(Some(then)));
        let epoch = Epoch {
            clock: clock.clone(),
            hold: hold.clone(),
        };
        let limiter = RateLimiter::direct_with_clock(quota, epoch);
        // A new bucket is full, and `missing` does not exceed its size.
        let taken = limiter.check_n(missing);
        debug_assert!(matches!(taken, Ok(Ok(()))), "{taken:?}");
        *hold.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Some(Self {
            limit,
            limiter,
            clock,
            full_at,
        })
    }

    /// Starts again with an empty bucket if the clock was set back, because the bucket would
    /// otherwise grant nothing until the clock has caught up.
    fn follow_clock(&mut self) {
        let empty = since_epoch(self.clock.now()).saturating_add(self.limit.refill());
        if self.full_at > empty {
            let full_at = Some(whole_millis(self.full_at));
            if let Some(bucket) = Self::start(self.limit, full_at, self.clock.clone()) {
                *self = bucket;
            }
        }
    }
}

#[cfg(test)]
mod tests;
