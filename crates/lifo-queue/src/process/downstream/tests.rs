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

/// A ledger with the default settings. Its turn starts tasks until 100 s.
fn ledger(concurrency: u16) -> Ledger {
    let limits = Limits {
        concurrency,
        rate: None,
    };
    let control = Control::default();
    Ledger::new(&settings(), limits, &control, Millis(100_000), Millis(0))
}

/// Ends a run.
fn end(ledger: &mut Ledger, number: RunNumber, task: usize, signal: Signal, now: i64) -> Ruling {
    let run = Run {
        number,
        started: Millis(now),
        ended: Millis(now),
    };
    ledger.run_ended(&run, &id(task), signal, 1.0)
}

/// Starts and ends one run.
fn run(ledger: &mut Ledger, task: usize, signal: Signal, now: i64) -> Ruling {
    ledger.attempt_started(&id(task));
    let number = ledger.run_started();
    let ruling = end(ledger, number, task, signal, now);
    if ruling.spared.is_some() {
        ledger.returned(&ruling);
    }
    ruling
}

#[test]
fn closing_breaker_frees_every_slot_within_the_limits_in_effect() {
    // Fewer slots than in the settings.
    let mut ledger = ledger(3);
    let mut now = 0;
    while ledger.open_breaker().is_none() {
        run(&mut ledger, 0, BUSY, now);
        run(&mut ledger, 1, BUSY, now);
        run(&mut ledger, 2, BUSY, now);
        now += 5_000;
    }
    assert_eq!(ledger.start(0, Millis(now)), Start::Probe);
    run(&mut ledger, 3, Signal::Result, now);
    assert_eq!(ledger.start(2, Millis(now)), Start::Any);
    assert_eq!(ledger.start(3, Millis(now)), Start::Wait(Millis::MAX));
}

#[test]
fn operator_command_that_closes_the_breaker_frees_every_slot() {
    let mut ledger = ledger(3);
    run(&mut ledger, 0, BUSY, 0);
    assert_eq!(ledger.start(1, Millis(50)), Start::Wait(Millis(100)));
    let mut control = Control::default();
    control.breaker_by_hand.commands = 1;
    ledger.breaker.open(Millis(0));
    ledger.obey(&control, Millis(60));
    assert_eq!(ledger.start(2, Millis(60)), Start::Any);
}

#[test]
fn failed_probes_pause_the_queue_only_after_a_long_outage() {
    let mut ledger = ledger(8);
    let pause_after = ledger.settings.breaker.unwrap().pause_after;
    for task in 0..10 {
        run(&mut ledger, task, Signal::Unavailable, 0);
    }
    let late = i64::try_from(pause_after.as_millis()).unwrap();
    ledger.last_start = Millis(late + 100_000);
    for probe in 1..=3 {
        let ruling = run(&mut ledger, 10, Signal::InternalError, late + probe * 5_000);
        assert_eq!(ruling.next_start, NEXT_START);
    }
    assert_eq!(ledger.pause_due(Millis(late + 20_000)), None, "HTTP 500");
    for probe in 4..=5 {
        let ruling = run(&mut ledger, 10, Signal::Unavailable, late + probe * 5_000);
        assert_eq!(ruling.next_start, NEXT_START + ledger.settings.pause);
    }
    // Another task may also need its last start.
    ledger.failed();
    assert_eq!(ledger.pause_due(Millis(late + 25_000)), None);
    for probe in 6..=8 {
        assert_eq!(ledger.pause_due(Millis(late + 28_000)), None);
        run(&mut ledger, 10, Signal::Unavailable, late + probe * 5_000);
    }
    assert!(ledger.pause_due(Millis(late + 40_000)).is_some());
}

#[test]
fn requested_wait_pauses_the_queue_and_does_not_open_the_breaker() {
    let mut ledger = ledger(8);
    let retry_after = Some(Duration::from_secs(10));
    for task in 0..3 {
        assert_eq!(ledger.pause_due(Millis(0)), None);
        run(&mut ledger, task, Signal::Busy { retry_after }, 0);
    }
    assert_eq!(ledger.open_breaker(), None);
    assert_eq!(ledger.pause_due(Millis(0)).unwrap().until, Millis(30_000));
}

#[test]
fn single_task_with_busy_responses_does_not_open_the_breaker() {
    let mut ledger = ledger(8);
    for second in 0..8 {
        run(&mut ledger, 0, BUSY, second * 1_000);
    }
    assert_eq!(ledger.open_breaker(), None);
}

#[test]
fn after_the_backoff_only_the_end_of_a_run_frees_a_slot() {
    let mut ledger = ledger(2);
    run(&mut ledger, 0, BUSY, 0);
    assert_eq!(ledger.start(0, Millis(99)), Start::Wait(Millis(100)));
    assert_eq!(ledger.start(0, Millis(100)), Start::Any);
    for now in [100, 101] {
        assert_eq!(ledger.start(1, Millis(now)), Start::Wait(Millis::MAX));
    }
}

#[test]
fn run_of_the_target_latency_is_not_slow() {
    let mut ledger = ledger(8);
    ledger.settings.target_latency = Some(Duration::from_secs(1));
    for (ended, expected) in [(1_000, 8), (1_001, 7)] {
        let run = Run {
            number: ledger.run_started(),
            started: Millis(0),
            ended: Millis(ended),
        };
        ledger.run_ended(&run, &id(0), Signal::Result, 1.0);
        assert_eq!(ledger.concurrency(), expected, "{ended} ms");
    }
}
