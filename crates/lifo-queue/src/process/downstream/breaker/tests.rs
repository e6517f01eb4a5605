use super::*;

const BUSY: Signal = Signal::Busy { retry_after: None };

fn limits(concurrency: u16) -> Limits {
    Limits {
        concurrency,
        rate: None,
    }
}

fn breaker(slots: u16) -> Breaker {
    Breaker::new(Some(limits(slots)), None, Millis(0))
}

fn id(number: usize) -> TaskId {
    TaskId::from_stored(format!("task-{number:03}"))
}

/// Starts and ends one run.
fn run(breaker: &mut Breaker, task: usize, signal: Signal, now: i64) {
    let number = breaker.run_starts();
    breaker.run_ended(number, &id(task), signal, Millis(now));
}

/// A breaker that tasks 0 to 9 opened at time 0.
fn open() -> Breaker {
    let mut breaker = breaker(8);
    for task in 0..10 {
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    assert!(breaker.state().is_some());
    breaker
}

fn probe(breaker: &mut Breaker, task: usize, signal: Signal, now: i64) {
    assert_eq!(breaker.start(0, Millis(now)), Start::Probe);
    assert!(breaker.starts(&id(task)));
    run(breaker, task, signal, now);
}

#[test]
fn ten_distinct_tasks_without_a_result_open_the_breaker() {
    let mut breaker = breaker(8);
    for task in 0..9 {
        run(&mut breaker, task, Signal::Unavailable, 0);
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    assert_eq!(breaker.state(), None);
    run(&mut breaker, 9, Signal::Result, 0);
    for task in 10..19 {
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    assert_eq!(breaker.state(), None);
    run(&mut breaker, 19, Signal::Unavailable, 7);
    let state = OpenBreaker {
        since: Millis(7),
        probes: 0,
    };
    assert_eq!(breaker.state(), Some(state));
}

#[test]
fn ten_repeated_tasks_open_the_breaker_after_twice_the_threshold_in_runs() {
    let (mut ten, mut nine) = (breaker(10), breaker(10));
    for count in 0..23 {
        run(&mut ten, count % 10, Signal::Unavailable, 0);
        run(&mut nine, count % 9, Signal::Unavailable, 0);
    }
    assert_eq!(ten.state(), None);
    run(&mut ten, 0, Signal::Unavailable, 0);
    assert!(ten.state().is_some());
    run(&mut nine, 0, Signal::Unavailable, 0);
    assert_eq!(nine.state(), None, "fewer tasks may be at fault themselves");
}

#[test]
fn running_tasks_and_tasks_without_a_result_stay_within_the_threshold() {
    let mut breaker = breaker(8);
    assert_eq!(breaker.start(8, Millis(0)), Start::Any);
    for task in 0..4 {
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    assert_eq!(breaker.start(5, Millis(0)), Start::Any);
    assert_eq!(breaker.start(6, Millis(0)), Start::Wait(Millis::MAX));
    // Without other runs, a task may always start. Otherwise, the turn would stop.
    for task in 4..9 {
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    assert_eq!(breaker.start(0, Millis(0)), Start::Any);
}

#[test]
fn probes_run_one_at_a_time_with_doubling_waits_up_to_the_longest() {
    let mut breaker = open();
    let mut now = 0;
    let mut waits = Vec::new();
    for task in 10..15 {
        let next = breaker.next_probe().unwrap();
        waits.push(next.since(Millis(now)).as_secs());
        assert_eq!(breaker.start(0, Millis(next.0 - 1)), Start::Wait(next));
        assert_eq!(breaker.start(0, next), Start::Probe);
        assert!(breaker.starts(&id(task)));
        assert_eq!(breaker.start(1, next), Start::Wait(Millis::MAX));
        now = next.0 + 2_000;
        run(&mut breaker, task, Signal::Unavailable, now);
    }
    assert_eq!(waits, [1, 2, 4, 4, 4]);
}

#[test]
fn any_result_closes_the_breaker() {
    let mut breaker = open();
    probe(&mut breaker, 10, Signal::Unavailable, 1_000);
    let later = breaker.run_starts();
    breaker.run_ended(later, &id(3), Signal::Result, Millis(1_100));
    assert_eq!(breaker.state(), None);
    assert_eq!(breaker.start(5, Millis(1_100)), Start::Any);
    for task in 20..29 {
        run(&mut breaker, task, Signal::Unavailable, 2_000);
    }
    assert_eq!(breaker.state(), None, "it counts from the last result on");
}

#[test]
fn discounted_tasks_open_the_breaker_after_four_times_the_threshold_in_runs() {
    let mut breaker = open();
    probe(&mut breaker, 10, Signal::Result, 1_000);
    // The ten tasks that opened the breaker may be the cause.
    for round in 0..3 {
        for task in 0..10 {
            run(&mut breaker, task, Signal::Unavailable, 2_000 + round);
        }
    }
    assert_eq!(breaker.state(), None);
    assert_eq!(breaker.start(8, Millis(3_000)), Start::Any);
    // Without a result in between, the downstream is the cause.
    for task in 0..10 {
        run(&mut breaker, task, Signal::Unavailable, 3_000);
    }
    assert!(breaker.state().is_some());
}

#[test]
fn result_of_a_run_from_before_the_outage_is_ignored() {
    let mut breaker = breaker(8);
    let (first, second) = (breaker.run_starts(), breaker.run_starts());
    for task in 0..9 {
        run(&mut breaker, task, Signal::Unavailable, 0);
    }
    breaker.run_ended(first, &id(90), Signal::Result, Millis(300));
    run(&mut breaker, 9, Signal::Unavailable, 300);
    assert!(breaker.state().is_some());
    breaker.run_ended(second, &id(91), Signal::Result, Millis(400));
    assert!(breaker.state().is_some());
}

#[test]
fn run_that_started_before_the_breaker_opened_is_not_a_probe() {
    let mut breaker = open();
    run(&mut breaker, 50, Signal::Unavailable, 500);
    assert_eq!(breaker.next_probe(), Some(Millis(1_000)));
    assert_eq!(breaker.state().map(|open| open.probes), Some(0));
    probe(&mut breaker, 10, Signal::Unavailable, 1_000);
    assert_eq!(breaker.state().map(|open| open.probes), Some(1));
}

#[test]
fn next_probe_follows_soon_after_a_probe_without_a_result() {
    let mut breaker = open();
    probe(&mut breaker, 10, Signal::Nothing, 1_000);
    assert_eq!(breaker.next_probe(), Some(Millis(1_250)));
    assert_eq!(breaker.state().map(|open| open.probes), Some(0));
}

#[test]
fn probes_alternate_between_the_farthest_and_the_newest_untried_task() {
    let mut breaker = open();
    // The ten tasks that opened the breaker are the newest.
    let ids: Vec<TaskId> = (0..30).map(id).collect();
    let due: Vec<&TaskId> = ids.iter().collect();
    let mut probes = Vec::new();
    for _ in 0..5 {
        let place = breaker.choose(&due, None, false).unwrap();
        probes.push(place);
        let at = breaker.next_probe().unwrap().0;
        probe(&mut breaker, place, Signal::Unavailable, at);
    }
    assert_eq!(probes, [29, 10, 20, 11, 25]);
}

#[test]
fn last_due_task_is_probed_if_no_due_task_was_tried() {
    let breaker = open();
    let (ten, eleven) = (id(10), id(11));
    assert_eq!(breaker.choose(&[&ten, &eleven], None, false), Some(1));
}

#[test]
fn least_recently_tried_task_is_probed_once_all_were_tried() {
    let mut breaker = open();
    probe(&mut breaker, 4, Signal::Unavailable, 1_000);
    probe(&mut breaker, 5, Signal::Unavailable, 3_000);
    let (four, five) = (id(4), id(5));
    assert_eq!(breaker.choose(&[&five, &four], None, true), Some(1));
    assert_eq!(breaker.choose(&[&five, &four], None, false), None);
    assert_eq!(breaker.choose(&[], None, true), None);
}

#[test]
fn every_other_probe_is_a_task_that_is_about_to_expire() {
    let mut breaker = open();
    let ids: Vec<TaskId> = (0..30).map(id).collect();
    let due: Vec<&TaskId> = ids.iter().collect();
    let mut probes = Vec::new();
    for _ in 0..4 {
        let place = breaker.choose(&due, Some(3), false).unwrap();
        probes.push(place);
        let at = breaker.next_probe().unwrap().0;
        probe(&mut breaker, place, Signal::Unavailable, at);
    }
    assert_eq!(probes, [29, 3, 19, 3]);
    // Untried tasks may be on a later page.
    assert_eq!(breaker.choose(&due[..2], Some(1), false), None);
    assert_eq!(breaker.choose(&due[..2], Some(1), true), Some(1));
}

#[test]
fn busy_response_counts_only_if_no_earlier_run_is_active() {
    let mut breaker = breaker(8);
    let working = breaker.run_starts();
    for task in 0..20 {
        run(&mut breaker, task, BUSY, 0);
    }
    assert_eq!(breaker.state(), None);
    breaker.run_ended(working, &id(99), Signal::Result, Millis(0));
    for task in 0..10 {
        run(&mut breaker, task, BUSY, 0);
    }
    assert!(breaker.state().is_some());
}

#[test]
fn disabled_breaker_never_opens() {
    let left = OpenBreaker {
        since: Millis(5),
        probes: 7,
    };
    let mut breaker = Breaker::new(None, Some(left), Millis(0));
    for task in 0..1_000 {
        run(&mut breaker, task, Signal::Unavailable, 0);
        assert_eq!(breaker.start(1, Millis(0)), Start::Any);
    }
    breaker.open(Millis(0));
    assert_eq!(breaker.state(), None);
}
