use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn limit(max: u16) -> Limit {
    Limit::new(max, &Health::default())
}

fn busy(limit: &mut Limit, count: usize, now: i64) {
    for _ in 0..count {
        limit.busy(Millis(now), Millis(now));
    }
}

fn succeeded(limit: &mut Limit, count: usize, now: i64) {
    for _ in 0..count {
        limit.succeeded(Millis(now), Millis(now));
    }
}

#[test]
fn limit_falls_once_half_of_the_recent_responses_are_busy() {
    let mut limit = limit(10);
    succeeded(&mut limit, 4, 0);
    busy(&mut limit, 3, 0);
    assert_eq!(limit.limit(), 10, "3 of 7");
    busy(&mut limit, 1, 0);
    assert_eq!(limit.limit(), 7, "4 of 8");
    // Runs from before the fall say nothing about the lower limit.
    for _ in 0..10 {
        limit.busy(Millis(-1), Millis(5));
    }
    assert_eq!(limit.limit(), 7);
    busy(&mut limit, 5, 6);
    assert_eq!(limit.limit(), 4);
}

#[test]
fn few_or_old_busy_responses_do_not_lower_the_limit() {
    let mut limit = limit(10);
    busy(&mut limit, 4, 0);
    busy(&mut limit, 4, 10_001);
    assert_eq!(limit.limit(), 10);
}

#[test]
fn limit_rises_slowly_near_the_limit_that_failed() {
    let mut limit = limit(10);
    busy(&mut limit, 5, 0);
    assert_eq!(limit.limit(), 7);
    let mut results = 0;
    while limit.limit < 8.5 {
        succeeded(&mut limit, 1, 1);
        results += 1;
    }
    assert!((10..=14).contains(&results), "{results}");
    while limit.limit() < 10 {
        succeeded(&mut limit, 1, 1);
        results += 1;
    }
    assert!((400..=460).contains(&results), "{results}");
    assert_eq!(limit.left(), (None, None));
}

#[test]
fn next_turn_starts_with_the_limit_of_the_previous_one() {
    let mut before = limit(10);
    busy(&mut before, 5, 0);
    let (limit, failed_limit) = before.left();
    assert_eq!((limit, failed_limit), (Some(7), Some(10)));
    let left = Health {
        limit,
        failed_limit,
        ..Health::default()
    };
    assert_eq!(Limit::new(10, &left).limit(), 7);
    assert_eq!(Limit::new(5, &left).limit(), 5);
}

#[test]
fn raised_maximum_does_not_reopen_slots_closed_by_busy_responses() {
    let mut limit = limit(10);
    limit.change_max(3);
    assert_eq!(limit.limit(), 3);
    limit.change_max(10);
    assert_eq!(limit.limit(), 10);
    busy(&mut limit, 5, 1_000);
    limit.change_max(8);
    assert_eq!(limit.limit(), 7);
}

#[test]
fn slow_runs_lower_the_limit_once_per_round() {
    let mut limit = limit(10);
    for _ in 0..10 {
        limit.slow(Millis(0), 0.99, Millis(500));
    }
    assert_eq!(limit.limit(), 9);
    limit.slow(Millis(499), 0.1, Millis(900));
    assert_eq!(limit.limit(), 9);
    limit.slow(Millis(500), 0.1, Millis(1_000));
    assert_eq!(limit.limit(), 4);
    let mut now = Millis(1_000);
    for _ in 0..100 {
        limit.slow(now, 0.8, now.plus(SECOND));
        now = now.plus(SECOND);
    }
    assert_eq!(limit.limit(), 1);
}
