use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn breaker() -> Breaker {
    Breaker::new(true, None, &Health::default(), Millis(0))
}

fn id(number: usize) -> TaskId {
    TaskId::from_stored(format!("task-{number:03}"))
}

/// Ends a run of a task without a result.
fn fails(breaker: &mut Breaker, task: usize, cause: Cause, now: i64) {
    breaker.no_result(&id(task), (cause, None), false, Millis(now));
}

fn unavailable(breaker: &mut Breaker, task: usize, now: i64) {
    fails(breaker, task, Cause::Unavailable, now);
}

/// A breaker that tasks 0 to 4 opened at time 0.
fn open() -> Breaker {
    let mut breaker = breaker();
    for task in 0..5 {
        assert_eq!(breaker.state(), None);
        unavailable(&mut breaker, task, 0);
    }
    assert!(breaker.state().is_some());
    breaker
}

/// Starts a probe of this task at the next possible time, and lets it fail `lasts` ms later.
/// Returns the wait before the probe.
fn probe(breaker: &mut Breaker, task: usize, cause: Cause, now: &mut i64, lasts: i64) -> u64 {
    let next = breaker.next_probe().unwrap();
    assert_eq!(breaker.start(0, 8, Millis(next.0 - 1)), Start::Wait(next));
    assert_eq!(breaker.start(0, 8, next), Start::Probe);
    assert!(breaker.starts(&id(task), next));
    let wait = next.since(Millis(*now)).as_secs();
    *now = next.0 + lasts;
    fails(breaker, task, cause, *now);
    wait
}

#[test]
fn five_consecutive_runs_without_a_result_open_the_breaker() {
    for cause in [Cause::Unavailable, Cause::Busy, Cause::Rejecting] {
        let mut breaker = breaker();
        for _ in 0..4 {
            fails(&mut breaker, 0, cause, 0);
        }
        breaker.got_result(Millis(0));
        for now in 1..=4 {
            fails(&mut breaker, 0, cause, now);
            assert_eq!(breaker.state(), None);
        }
        fails(&mut breaker, 0, cause, 7);
        let state = OpenBreaker {
            since: Millis(7),
            probes: 0,
        };
        assert_eq!(breaker.state(), Some(state), "{cause:?}");
    }
}

#[test]
fn runs_of_the_previous_turn_count() {
    let mut before = breaker();
    for task in 0..4 {
        unavailable(&mut before, task, 0);
    }
    let mut after = Breaker::new(true, before.state(), &before.left(), Millis(60_000));
    unavailable(&mut after, 4, 60_000);
    assert!(after.state().is_some());
}

#[test]
fn fewer_tasks_run_with_each_run_without_a_result() {
    let mut breaker = breaker();
    let mut allowed = Vec::new();
    for task in 0..5 {
        let starts =
            (0..20).take_while(|running| breaker.start(*running, 10, Millis(0)) == Start::Any);
        allowed.push(starts.count());
        unavailable(&mut breaker, task, 0);
    }
    assert_eq!(allowed, [10, 9, 7, 5, 3]);
}

#[test]
fn probes_run_one_at_a_time_with_growing_intervals() {
    let (mut breaker, mut now) = (open(), 0);
    let mut wait = |task| probe(&mut breaker, task, Cause::Unavailable, &mut now, 2_000);
    let waits: Vec<u64> = (10..15).map(&mut wait).collect();
    assert_eq!(waits, [1, 2, 4, 4, 4]);
    // After ten minutes, the interval is a sixtieth of the outage.
    let waits: Vec<u64> = (15..300).map(wait).collect();
    assert_eq!(waits[..80], [4; 80]);
    assert_eq!(waits[100], 10);
    assert_eq!(waits[284], 20);
}

#[test]
fn rejecting_downstream_is_probed_at_a_tenth_of_the_time_since_its_first_rejection() {
    let (mut breaker, mut now) = (breaker(), 0);
    for task in 0..5 {
        fails(&mut breaker, task, Cause::Rejecting, 0);
    }
    let mut wait = |task| probe(&mut breaker, task, Cause::Rejecting, &mut now, 0);
    let waits: Vec<u64> = (5..70).map(&mut wait).collect();
    assert_eq!(waits[..6], [1, 2, 4, 4, 4, 4]);
    let times: u64 = waits.iter().sum();
    assert_eq!(waits[64], 300, "after {times} s");
}

#[test]
fn probe_without_a_response_delays_the_next_by_at_most_ten_seconds() {
    let mut breaker = open();
    assert!(breaker.starts(&id(10), Millis(1_000)));
    let old = Millis(11_000);
    assert_eq!(breaker.start(1, 8, Millis(10_999)), Start::Wait(old));
    assert_eq!(breaker.start(1, 8, old), Start::Probe);
    assert_eq!(
        breaker.start(1, 1, old),
        Start::Wait(Millis::MAX),
        "no slot"
    );
    assert!(breaker.starts(&id(11), old));
    unavailable(&mut breaker, 10, 31_000);
    assert_eq!(
        breaker.state().map(|open| open.probes),
        Some(0),
        "an old probe"
    );
}

#[test]
fn result_closes_the_breaker() {
    let mut breaker = open();
    breaker.got_result(Millis(1_100));
    assert_eq!(breaker.state(), None);
    assert_eq!(breaker.start(7, 8, Millis(1_100)), Start::Any);
    for task in 20..24 {
        unavailable(&mut breaker, task, 2_000);
    }
    assert_eq!(breaker.state(), None, "it counts from the last result on");
}

#[test]
fn probes_wait_as_long_as_a_busy_downstream_asked() {
    for (mixed, expected) in [(false, [9, 9, 9, 9]), (true, [1, 2, 4, 9])] {
        let (mut breaker, mut now) = (breaker(), 0);
        let reason = (Cause::Busy, Some(9 * SECOND));
        for task in 0..5 {
            breaker.no_result(&id(task), reason, mixed, Millis(0));
        }
        let waits = expected.map(|_| {
            let next = breaker.next_probe().unwrap();
            assert!(breaker.starts(&id(10), next));
            breaker.no_result(&id(10), reason, false, next);
            let wait = next.since(Millis(now)).as_secs();
            now = next.0;
            wait
        });
        assert_eq!(waits, expected, "gave a result shortly before: {mixed}");
    }
}

#[test]
fn run_that_started_before_the_breaker_opened_is_not_a_probe() {
    let (mut breaker, mut now) = (open(), 0);
    unavailable(&mut breaker, 50, 500);
    assert_eq!(breaker.next_probe(), Some(Millis(1_000)));
    assert_eq!(breaker.state().map(|open| open.probes), Some(0));
    probe(&mut breaker, 10, Cause::Unavailable, &mut now, 0);
    assert_eq!(breaker.state().map(|open| open.probes), Some(1));
}

#[test]
fn next_probe_follows_soon_after_a_probe_without_a_run() {
    let mut breaker = open();
    assert!(breaker.starts(&id(10), Millis(1_000)));
    breaker.probe_over(&id(10), Millis(1_000));
    assert_eq!(breaker.next_probe(), Some(Millis(1_250)));
    assert_eq!(breaker.state().map(|open| open.probes), Some(0));
}

#[test]
fn clock_that_was_ahead_delays_the_next_turns_probe_by_at_most_an_interval() {
    let left = OpenBreaker {
        since: Millis(0),
        probes: 9,
    };
    let health = Health {
        next_probe: Some(Millis(3_600_000)),
        ..Health::default()
    };
    let breaker = Breaker::new(true, Some(left), &health, Millis(60_000));
    assert_eq!(breaker.next_probe(), Some(Millis(64_000)));
}

#[test]
fn probes_alternate_between_any_and_the_newest_untried_task() {
    let (mut breaker, mut now) = (open(), 0);
    // The five tasks that opened the breaker are the newest.
    let ids: Vec<TaskId> = (0..30).map(id).collect();
    let due: Vec<&TaskId> = ids.iter().collect();
    let mut probes = Vec::new();
    for _ in 0..5 {
        let place = breaker.choose(&due, None, false).unwrap();
        probes.push(place);
        probe(&mut breaker, place, Cause::Unavailable, &mut now, 0);
    }
    assert!(probes.iter().all(|place| *place >= 5), "{probes:?}");
    assert!(probes[1] <= 6 && probes[3] <= 8, "{probes:?}");
    let distinct: std::collections::HashSet<_> = probes.iter().collect();
    assert_eq!(distinct.len(), 5, "{probes:?}");
}

#[test]
fn least_recently_tried_task_is_probed_once_all_were_tried() {
    let (mut breaker, mut now) = (open(), 0);
    probe(&mut breaker, 4, Cause::Unavailable, &mut now, 0);
    probe(&mut breaker, 5, Cause::Unavailable, &mut now, 0);
    let (four, five) = (id(4), id(5));
    assert_eq!(breaker.choose(&[&five, &four], None, true), Some(1));
    assert_eq!(breaker.choose(&[&five, &four], None, false), None);
    assert_eq!(breaker.choose(&[], None, true), None);
}

#[test]
fn every_other_probe_is_a_task_that_is_about_to_expire() {
    let (mut breaker, mut now) = (open(), 0);
    let ids: Vec<TaskId> = (0..30).map(id).collect();
    let due: Vec<&TaskId> = ids.iter().collect();
    let mut probes = Vec::new();
    for _ in 0..4 {
        let place = breaker.choose(&due, Some(3), false).unwrap();
        probes.push(place);
        probe(&mut breaker, place, Cause::Unavailable, &mut now, 0);
    }
    assert_eq!((probes[1], probes[3]), (3, 3), "{probes:?}");
    // Untried tasks may be on a later page.
    assert_eq!(breaker.choose(&due[..2], Some(1), false), None);
    assert_eq!(breaker.choose(&due[..2], Some(1), true), Some(1));
}

#[test]
fn disabled_breaker_never_opens() {
    let left = OpenBreaker {
        since: Millis(5),
        probes: 7,
    };
    let mut breaker = Breaker::new(false, Some(left), &Health::default(), Millis(0));
    for task in 0..1_000 {
        unavailable(&mut breaker, task, 0);
        assert_eq!(breaker.start(1, 2, Millis(0)), Start::Any);
    }
    assert_eq!(breaker.state(), None);
}
