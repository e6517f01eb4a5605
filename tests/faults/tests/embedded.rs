//! Fault schedules on the embedded DynamoDB, through the real SDK client with its own retries.

use faults::suite::{Store, replay, run};
use simulator::fault::Fault;

/// Schedules per test. The tests run in parallel.
const SEEDS: u64 = 50;

/// Faults that the SDK must have encountered.
const FAULTS: [Fault; 8] = [
    Fault::Throttled,
    Fault::Unavailable,
    Fault::TransactionConflict,
    Fault::LostAck,
    Fault::LateWrite,
    Fault::Latency,
    Fault::PartialBatch,
    Fault::StaleIndex,
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
