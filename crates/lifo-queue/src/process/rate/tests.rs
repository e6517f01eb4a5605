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

/// Runs a turn that requests starts as early as allowed from `from` to `to`. Returns the number of
/// granted starts and the time at which its bucket is full again.
fn turn(full_at: Option<Millis>, from: i64, to: i64) -> (u32, Option<Millis>) {
    turn_of(LIMIT, full_at, from, to)
}

fn turn_of(limit: RateLimit, full_at: Option<Millis>, from: i64, to: i64) -> (u32, Option<Millis>) {
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
    // The bucket is empty, so refilling takes the full time.
    let refill = full_at.unwrap().since(Millis(start + 10_000));
    assert!(
        refill > Duration::from_millis(700) && refill <= LIMIT.refill(),
        "{refill:?}"
    );
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
        // Rounding up and the clock's resolution each cost up to one millisecond per turn.
        let lost = 20 * a_second.div_ceil(1_000);
        let range = allowed - lost..=allowed + 1;
        assert!(
            range.contains(&total),
            "{total} of {allowed} at {a_second}/s"
        );
    }
}

#[test]
fn operator_rate_can_only_lower_the_configured_rate() {
    let second = Duration::from_secs(1);
    let limit = |interval, burst| RateLimit {
        interval,
        burst: NonZeroU32::new(burst).unwrap(),
    };
    let lowered = RateLimit::lowered;
    assert_eq!(lowered(None, second * 4), limit(second * 4, 1));
    assert_eq!(lowered(None, second / 3), limit(second / 3, 3));
    assert_eq!(lowered(None, second * 2 / 5), limit(second * 2 / 5, 3));
    for per_second in 1..=1_000 {
        let interval = Duration::from_secs_f64(f64::from(per_second).recip());
        assert_eq!(lowered(None, interval).burst.get(), per_second);
        assert_eq!(lowered(None, second / per_second).burst.get(), per_second);
    }
    assert_eq!(lowered(Some(LIMIT), second / 2), limit(second / 2, 2));
    assert_eq!(lowered(Some(LIMIT), second / 10), LIMIT);
    let small = Some(limit(second / 10, 1));
    assert_eq!(lowered(small, second / 5), limit(second / 5, 1));
    let slow = Some(limit(second, 15));
    assert_eq!(lowered(slow, second / 2), limit(second, 2));
}

#[test]
fn changed_limit_still_counts_earlier_starts() {
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
fn bucket_state_from_a_clock_that_was_ahead_is_capped_at_empty() {
    let (granted, _) = turn(Some(Millis(9_000_000)), 1_000, 2_100);
    assert!((4..=5).contains(&granted), "{granted}");
}

#[test]
fn clock_set_back_within_a_turn_costs_at_most_the_burst() {
    let hand = at(3_600_000);
    let mut rate = Rate::start(Some(LIMIT), None, hand.clone());
    for _ in 0..3 {
        assert_eq!(rate.grant(hand.now()), Ok(()));
        rate.used();
    }
    hand.0.store(0, Ordering::SeqCst);
    let mut granted = 0;
    while hand.now() < Millis(10_000) {
        match rate.grant(hand.now()) {
            Ok(()) => {
                rate.used();
                granted += 1;
            }
            Err(again) => hand.0.store(again.0, Ordering::SeqCst),
        }
    }
    // An empty bucket, then five starts per second.
    assert!((48..=50).contains(&granted), "{granted}");
}

#[test]
fn every_start_is_granted_without_a_limit() {
    let mut rate = Rate::start(None, Some(Millis::MAX), at(0));
    for _ in 0..1_000 {
        assert_eq!(rate.grant(Millis(0)), Ok(()));
        rate.used();
    }
    assert_eq!(rate.full_at(), None);
}
