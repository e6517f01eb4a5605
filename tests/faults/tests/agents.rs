//! Fault schedules for the agents' queue, in memory and on the embedded DynamoDB.

use faults::agents::{Census, play};
use faults::suite::Store;
use simulator::agents::network::FAULTS;
use simulator::seeds::Seeds;

/// Schedules per in-memory test. The tests run in parallel.
const SEEDS: u64 = 150;

/// Number of trace lines that a failure prints.
const TAIL: usize = 80;

#[allow(clippy::print_stdout, reason = "the figures are the tests' output")]
fn run(seeds: std::ops::Range<u64>, store: Store) {
    let Seeds { range, usual } = Seeds::of(seeds);
    let mut census = Census::default();
    for seed in range {
        let played = play(seed, store);
        if !played.violations.is_empty() {
            let tail = played.trace.len().saturating_sub(TAIL);
            println!("{}", played.trace[tail..].join("\n"));
        }
        assert!(
            played.violations.is_empty(),
            "seed {seed} on {store:?}: {:#?}\nplay it again: FRESHQ_SEED={seed} make test-rust F='package(faults)'",
            played.violations
        );
        census.add(&played.census);
    }
    println!("agents under faults on {store:?}: {census:?}");
    if !usual {
        return;
    }
    for fault in FAULTS {
        assert!(
            census.faults.contains_key(&fault),
            "{fault:?} never occurred"
        );
    }
    for state in ["assigned", "cancelled", "expired"] {
        assert!(census.calls.contains_key(state), "no call ended {state}");
    }
    assert!(census.crashes > 0, "no process crashed");
}

fn part(number: u64) {
    run(number * SEEDS..(number + 1) * SEEDS, Store::Memory);
}

faults::parts! {
    part:
    agent_schedules_0 0
    agent_schedules_1 1
    agent_schedules_2 2
    agent_schedules_3 3
}

#[test]
fn agent_schedules_on_the_embedded_dynamodb() {
    run(10_000..10_012, Store::Embedded);
}

#[test]
fn same_seed_replays_the_same_agent_schedule() {
    for seed in [1, 2, 3, 50, 51] {
        let (first, second) = (play(seed, Store::Memory), play(seed, Store::Memory));
        let differs = std::iter::zip(&first.trace, &second.trace).position(|(a, b)| a != b);
        let place = differs.map(|line| (&first.trace[line], &second.trace[line]));
        assert_eq!(place, None, "seed {seed}");
        assert_eq!(first.census, second.census, "seed {seed}");
    }
}
