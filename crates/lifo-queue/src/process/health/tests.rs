use std::time::Duration;

use serde_json::Value;

use super::*;

const BUSY: Signal = Signal::Busy { retry_after: None };

fn id(number: usize) -> TaskId {
    TaskId::from_stored(format!("task-{number:03}"))
}

/// The default settings of a deployment.
pub(super) fn settings() -> ProcessSettings {
    let contract = include_str!("../../../../../tests/contract.json");
    let contract: Value = serde_json::from_str(contract).unwrap();
    let settings = contract["settings"]["defaults"]["process-tasks"].clone();
    serde_json::from_value(settings).unwrap()
}

/// A health with the default settings and this concurrency, in a turn that starts at 0.
fn health(concurrency: u16) -> Health {
    let limits = Limits {
        concurrency,
        rate: None,
    };
    let nothing = (None, &control::Health::default());
    Health::new(&settings(), limits, nothing, Millis(0))
}

/// Starts and ends one run. Returns whether it costs an attempt.
fn run(health: &mut Health, task: usize, signal: Signal, (started, ended): (i64, i64)) -> bool {
    health.attempt_started(&id(task), Millis(started));
    ends(health, task, signal, (started, ended), false)
}

/// Ends one run. Returns whether it costs an attempt.
fn ends(
    health: &mut Health,
    task: usize,
    signal: Signal,
    (started, ended): (i64, i64),
    first: bool,
) -> bool {
    let run = Run {
        started: Millis(started),
        ended: Millis(ended),
        first,
    };
    health.run_ended(&run, &id(task), signal).charged
}

#[test]
fn outage_costs_no_attempt_with_any_number_of_tasks_and_runs() {
    for tasks in [1, 2, 50] {
        let mut health = health(50);
        run(&mut health, 99, Signal::Result, (0, 100));
        for round in 0..100 {
            for task in 0..tasks {
                let at = 1_000 + round * 5_000;
                let first = round == 0;
                let charged = ends(&mut health, task, Signal::Unavailable, (at, at + 5), first);
                assert!(!charged, "{tasks} tasks, round {round}");
            }
        }
    }
}

#[test]
fn run_without_a_result_costs_an_attempt_if_another_task_got_a_result_since_the_last_return() {
    let mut health = health(10);
    let failed = Signal::Unavailable;
    assert!(!run(&mut health, 0, failed, (10, 20)), "no result yet");
    run(&mut health, 1, Signal::Result, (15, 30));
    assert!(
        !run(&mut health, 0, failed, (40, 50)),
        "that run started before the return"
    );
    run(&mut health, 1, Signal::Result, (51, 60));
    assert!(run(&mut health, 0, failed, (70, 80)));
    assert!(!run(&mut health, 0, failed, (90, 99)), "no result since");
}

#[test]
fn first_run_costs_an_attempt_only_if_a_later_run_got_a_result() {
    let mut health = health(10);
    run(&mut health, 1, Signal::Result, (100, 200));
    assert!(!ends(&mut health, 0, Signal::Unavailable, (100, 300), true));
    run(&mut health, 1, Signal::Result, (301, 400));
    assert!(ends(&mut health, 2, Signal::Unavailable, (300, 500), true));
}

#[test]
fn result_of_an_earlier_turn_is_no_evidence() {
    let mut health = health(10);
    run(&mut health, 1, Signal::Result, (0, 10));
    assert!(!run(&mut health, 0, Signal::Unavailable, (5, 20)));
}

#[test]
fn run_that_started_as_a_probe_costs_no_attempt_even_if_the_outage_ended_during_it() {
    let mut health = health(10);
    for task in 0..5 {
        run(&mut health, task, Signal::Unavailable, (0, 5));
    }
    health.attempt_started(&id(0), Millis(1_005));
    health.attempt_started(&id(6), Millis(11_005));
    ends(&mut health, 6, Signal::Result, (11_005, 11_100), false);
    assert!(!ends(
        &mut health,
        0,
        Signal::Unavailable,
        (1_005, 31_005),
        false
    ));
}

#[test]
fn without_a_breaker_each_run_without_a_result_costs_an_attempt() {
    let mut health = health(10);
    health.settings.breaker = None;
    assert!(run(&mut health, 0, Signal::Unavailable, (0, 5)));
}

#[test]
fn held_breaker_protects_the_attempts() {
    let mut health = health(10);
    let mut control = Control::default();
    control.breaker_by_hand = control::BreakerByHand {
        commands: 1,
        hold: Some(control::BreakerHold {
            until: Millis(60_000),
            reason: String::new(),
        }),
    };
    run(&mut health, 1, Signal::Result, (10, 20));
    health.obey(&control, Millis(20));
    assert!(!ends(&mut health, 0, Signal::Unavailable, (5, 30), false));
    assert!(health.open_breaker().is_some());
}

#[test]
fn one_busy_response_delays_no_other_task() {
    let mut health = health(3);
    let retry_after = Some(Duration::from_secs(60));
    run(&mut health, 0, Signal::Busy { retry_after }, (0, 5));
    assert_eq!(health.start(2, Millis(5)), Start::Any);
    assert_eq!(health.concurrency(), 3);
}

#[test]
fn slots_closed_by_busy_responses_stay_closed_after_the_breaker_closed() {
    let mut health = health(10);
    for task in 0..5 {
        run(&mut health, task, BUSY, (0, 5));
    }
    assert_eq!(
        (health.concurrency(), health.open_breaker().is_some()),
        (7, true)
    );
    run(&mut health, 9, Signal::Result, (1_005, 1_100));
    assert_eq!(health.open_breaker(), None);
    assert_eq!(health.start(6, Millis(1_100)), Start::Any);
    assert_eq!(health.start(7, Millis(1_100)), Start::Wait(Millis::MAX));
}

#[test]
fn operator_command_that_closes_the_breaker_frees_every_slot() {
    let mut health = health(3);
    for task in 0..5 {
        run(&mut health, task, Signal::Unavailable, (0, 5));
    }
    let mut control = Control::default();
    control.breaker_by_hand.commands = 1;
    health.obey(&control, Millis(60));
    assert_eq!(health.start(2, Millis(60)), Start::Any);
}

#[test]
fn next_start_is_within_thirty_probes() {
    let mut health = health(3);
    assert_eq!(health.next_start(Millis(0)), Duration::from_secs(120));
    for task in 0..5 {
        run(&mut health, task, Signal::Unavailable, (0, 5));
    }
    assert_eq!(health.next_start(Millis(599_000)), Duration::from_secs(120));
    let late = health.next_start(Millis(3_600_000));
    assert_eq!(late, Duration::from_secs(600));
}

#[test]
fn run_of_the_target_latency_is_not_slow() {
    let mut health = health(8);
    health.settings.target_latency = Some(Duration::from_secs(1));
    for (ended, expected) in [(1_000, 8), (1_001, 7)] {
        run(&mut health, 0, Signal::Result, (0, ended));
        assert_eq!(health.concurrency(), expected, "{ended} ms");
    }
}
