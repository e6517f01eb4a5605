//! The rate limit: the most starts per second, across turns.
//!
//! The bucket is governor's (GCRA) and exists for one turn. The control item keeps its state as the
//! time at which the bucket is full again. The next turn starts with the refill since then. While a
//! turn holds the processor lease, the item has the latest such time that the turn can cause. So a
//! turn that crashes leaves an empty bucket, never a full one.

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

/// The limit on starts of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct RateLimit {
    /// Time between two starts on average; not zero. In JSON: starts per second.
    #[serde(rename = "perSecond", deserialize_with = "interval_of_rate")]
    pub interval: Duration,
    /// The most starts at once after a quiet time: the size of the bucket.
    pub burst: NonZeroU32,
}

impl RateLimit {
    /// An operator's rate with this interval, unless the setting is lower. Its bucket is the starts
    /// of a second, but no larger than that of the setting.
    pub(super) fn lowered(setting: Option<Self>, interval: Duration) -> Self {
        let a_second = 1_000_000_000_u128.div_ceil(interval.as_nanos().max(1));
        let a_second = u32::try_from(a_second).unwrap_or(u32::MAX);
        let burst = NonZeroU32::new(a_second).unwrap_or(NonZeroU32::MIN);
        match setting {
            Some(setting) if setting.interval >= interval => setting,
            Some(setting) => Self {
                interval,
                burst: burst.min(setting.burst),
            },
            None => Self { interval, burst },
        }
    }

    /// Time in which an empty bucket becomes full.
    pub(super) fn refill(&self) -> Duration {
        self.interval.saturating_mul(self.burst.get())
    }

    /// The latest time at which the bucket is full again, if a turn grants all it may until `end`.
    pub(super) fn worst(&self, end: Millis) -> Millis {
        whole_millis(since_epoch(end).saturating_add(self.refill()))
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Epoch, NoOpMiddleware<Duration>>;

/// The limit within one turn.
pub(super) struct Rate {
    bucket: Option<Bucket>,
    /// A start was granted and not used yet.
    permit: bool,
    /// A start had to wait.
    pub(super) waited: bool,
}

struct Bucket {
    limit: RateLimit,
    limiter: Limiter,
    /// When the bucket is full again, as time since the epoch. It is exact to the nanosecond: with
    /// an interval cut to milliseconds, each start would cost too little.
    full_at: Duration,
}

/// The queue's clock for governor: the time since the epoch, or the time in [`Hold`] if set.
struct Epoch {
    clock: Arc<dyn Clock>,
    hold: Hold,
}

/// A fixed time for the clock; `None` if the clock runs.
type Hold = Arc<Mutex<Option<Duration>>>;

pub(super) fn since_epoch(moment: Millis) -> Duration {
    moment.since(Millis(0))
}

/// A time since the epoch, rounded up to a whole millisecond.
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
    /// The limit of a turn that starts now. `full_at` is the value that the previous turn left.
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

    /// Changes the limit. The time at which the bucket is full again stays, within the new limit.
    pub(super) fn change(&mut self, limit: Option<RateLimit>, clock: Arc<dyn Clock>) {
        let changed = Self::start(limit, self.full_at(), clock);
        let waited = self.waited;
        *self = Self { waited, ..changed };
    }

    /// Requests one start. The error is the time of the next request. A granted start stays granted
    /// until it is used.
    pub(super) fn grant(&mut self, now: Millis) -> Result<(), Millis> {
        let Some(bucket) = self.bucket.as_mut().filter(|_| !self.permit) else {
            return Ok(());
        };
        if let Err(too_early) = bucket.limiter.check() {
            self.waited = true;
            // Rounded up to a whole millisecond. Otherwise each request would be too early.
            let wait = too_early.wait_time_from(since_epoch(now));
            return Err(now.plus(wait + Duration::from_millis(1)));
        }
        let full_at = bucket.full_at.max(since_epoch(now));
        bucket.full_at = full_at.saturating_add(bucket.limit.interval);
        self.permit = true;
        Ok(())
    }

    /// Notes that the granted start has happened.
    pub(super) fn used(&mut self) {
        self.permit = false;
    }

    /// When the bucket is full again, rounded up to a millisecond; `None` without a limit. A start
    /// that was granted but not used does not count.
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
        // At most empty: a clock that was ahead must not stop the queue.
        let full_at = full_at.map_or(now, since_epoch).clamp(now, empty);
        let quota = Quota::with_period(limit.interval)?.allow_burst(limit.burst);
        let missing = full_at
            .saturating_sub(now)
            .as_nanos()
            .div_ceil(limit.interval.as_nanos());
        let missing = u32::try_from(missing).map_or(limit.burst, |n| {
            NonZeroU32::new(n).map_or(NonZeroU32::MIN, |n| n.min(limit.burst))
        });
        // Only whole starts can be taken out of governor's bucket, and `full_at` lies between two.
        // So they are taken out at `then`, from where exactly that many starts lead to `full_at`.
        let then = full_at.saturating_sub(limit.interval.saturating_mul(missing.get()));
        let hold = Hold::new(Mutex::new(Some(then)));
        let clock = Epoch {
            clock,
            hold: hold.clone(),
        };
        let limiter = RateLimiter::direct_with_clock(quota, clock);
        // A new bucket is full, and `missing` is not more than its size.
        let taken = limiter.check_n(missing);
        debug_assert!(matches!(taken, Ok(Ok(()))), "{taken:?}");
        *hold.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Some(Self {
            limit,
            limiter,
            full_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[derive(Default)]
    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Millis {
            Millis(self.0.load(Ordering::SeqCst))
        }
    }

    const LIMIT: RateLimit = RateLimit {
        interval: Duration::from_millis(200),
        burst: NonZeroU32::new(5).unwrap(),
    };

    fn at(now: i64) -> Arc<Hand> {
        Arc::new(Hand(AtomicI64::new(now)))
    }

    /// The starts granted by a turn from `from` to `to` that requests each start as early as
    /// allowed, and the end of its bucket's refill.
    fn turn(full_at: Option<Millis>, from: i64, to: i64) -> (u32, Option<Millis>) {
        turn_of(LIMIT, full_at, from, to)
    }

    fn turn_of(
        limit: RateLimit,
        full_at: Option<Millis>,
        from: i64,
        to: i64,
    ) -> (u32, Option<Millis>) {
        let hand = at(from);
        let mut rate = Rate::start(Some(limit), full_at, hand.clone());
        let mut granted = 0;
        while hand.now() < Millis(to) {
            match rate.grant(hand.now()) {
                Ok(()) => {
                    rate.used();
                    granted += 1;
                }
                Err(again) => hand.0.store(again.0, Ordering::SeqCst),
            }
        }
        (granted, rate.full_at())
    }

    #[test]
    fn bucket_grants_a_burst_and_then_the_rate() {
        let start = 1_800_000_000_000;
        let (granted, full_at) = turn(None, start, start + 10_000);
        assert!((54..=55).contains(&granted), "{granted}");
        // The bucket is empty: it takes the whole refill time.
        let refill = full_at.unwrap().since(Millis(start + 10_000));
        assert!(
            refill > Duration::from_millis(700) && refill <= LIMIT.refill(),
            "{refill:?}"
        );
    }

    #[test]
    fn the_bucket_does_not_refill_at_every_turn() {
        let start = 1_800_000_000_000;
        let (mut total, mut full_at) = (0, None);
        for n in 0..20 {
            let from = start + n * 500;
            let (granted, left) = turn(full_at, from, from + 500);
            total += granted;
            full_at = left;
        }
        // Ten seconds at five starts per second, and one burst; not twenty bursts.
        assert!((45..=55).contains(&total), "{total}");
    }

    #[test]
    fn fractional_millisecond_interval_is_kept_across_turns() {
        let start = 1_800_000_000_000;
        for (a_second, burst) in [(300, 300), (300, 10_000), (700, 1_000), (1_500, 1_500)] {
            let limit = RateLimit {
                interval: Duration::from_secs(1) / a_second,
                burst: NonZeroU32::new(burst).unwrap(),
            };
            let (mut total, mut full_at) = (0, None);
            for n in 0..10 {
                let from = start + n * 6_000;
                let (granted, left) = turn_of(limit, full_at, from, from + 6_000);
                total += granted;
                full_at = left;
            }
            let allowed = 60 * a_second + burst;
            // Rounding up costs at most a millisecond per turn, and so does the clock.
            let lost = 20 * a_second.div_ceil(1_000);
            let range = allowed - lost..=allowed + 1;
            assert!(
                range.contains(&total),
                "{total} of {allowed} at {a_second}/s"
            );
        }
    }

    #[test]
    fn operators_rate_only_lowers_the_setting() {
        let second = Duration::from_secs(1);
        let limit = |interval, burst| RateLimit {
            interval,
            burst: NonZeroU32::new(burst).unwrap(),
        };
        let lowered = RateLimit::lowered;
        assert_eq!(lowered(None, second * 4), limit(second * 4, 1));
        assert_eq!(lowered(None, second / 3), limit(second / 3, 4));
        assert_eq!(lowered(Some(LIMIT), second / 2), limit(second / 2, 2));
        assert_eq!(lowered(Some(LIMIT), second / 10), LIMIT);
        let small = Some(limit(second / 10, 1));
        assert_eq!(lowered(small, second / 5), limit(second / 5, 1));
    }

    #[test]
    fn changed_limit_keeps_the_starts_that_were_used() {
        let hand = at(10_000);
        let mut rate = Rate::start(Some(LIMIT), None, hand.clone());
        for _ in 0..5 {
            assert_eq!(rate.grant(Millis(10_000)), Ok(()));
            rate.used();
        }
        let slower = RateLimit {
            interval: Duration::from_secs(1),
            burst: NonZeroU32::MIN,
        };
        rate.change(Some(slower), hand.clone());
        assert_eq!(rate.full_at(), Some(Millis(11_000)));
        assert!(rate.grant(Millis(10_000)).is_err());
        rate.change(None, hand);
        assert_eq!(rate.grant(Millis(10_000)), Ok(()));
        assert!(rate.waited);
    }

    #[test]
    fn unused_grant_returns_to_the_bucket() {
        let hand = at(1_000);
        let mut rate = Rate::start(Some(LIMIT), None, hand);
        assert_eq!(rate.grant(Millis(1_000)), Ok(()));
        assert_eq!(rate.grant(Millis(1_000)), Ok(()), "still the same start");
        assert_eq!(rate.full_at(), Some(Millis(1_000)));
        rate.used();
        assert_eq!(rate.full_at(), Some(Millis(1_200)));
        assert!(!rate.waited);
    }

    #[test]
    fn clock_that_was_ahead_leaves_at_most_an_empty_bucket() {
        let (granted, _) = turn(Some(Millis(9_000_000)), 1_000, 2_100);
        assert!((4..=5).contains(&granted), "{granted}");
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        let mut rate = Rate::start(None, Some(Millis::MAX), at(0));
        for _ in 0..1_000 {
            assert_eq!(rate.grant(Millis(0)), Ok(()));
            rate.used();
        }
        assert_eq!(rate.full_at(), None);
    }
}
