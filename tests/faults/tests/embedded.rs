//! Fault schedules on the embedded DynamoDB, through the real SDK client with its own retries.

use faults::suite::{Store, replay, run};
use simulator::cloud::FaultKind;

/// Schedules per test. The tests run in parallel.
const SEEDS: u64 = 50;

/// Faults that the SDK must have encountered.
const FAULTS: [FaultKind; 8] = [
    FaultKind::Throttled,
    FaultKind::Unavailable,
    FaultKind::TransactionConflict,
    FaultKind::LostAck,
    FaultKind::LateWrite,
    FaultKind::Latency,
    FaultKind::PartialBatch,
    FaultKind::StaleIndex,
];

fn part(number: u64) {
    let first = 100_000 + number * SEEDS;
    run(
        first..first + SEEDS,
        Store::Embedded,
        &["Empty", "TimeUp"],
        &FAULTS,
    );
}

faults::parts! {
    part:
    schedules_0 0
    schedules_1 1
    schedules_2 2
    schedules_3 3
}

#[test]
fn same_seed_replays_the_same_schedule() {
    replay([5, 50], Store::Embedded);
}
