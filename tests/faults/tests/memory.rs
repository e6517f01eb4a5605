//! Fault schedules on the in-memory store. A failing seed can be replayed, almost always exactly.

use faults::suite::{ENDINGS, Store, play, replay, run};
use simulator::fault::Fault;

/// Schedules per test. The tests run in parallel.
const SEEDS: u64 = 500;

fn part(number: u64) {
    use Fault::{DeadlinePassed, Denied, Invalid, LostRequest, PartialBatch};
    // The in-memory table has no partial batches, a process without the table loses all requests,
    // and functions reach their deadline so rarely that one part of the seeds may have no such case.
    // Only scripts reject requests.
    let mut kinds = Fault::ALL.to_vec();
    kinds.retain(|kind| {
        !matches!(
            kind,
            PartialBatch | LostRequest | DeadlinePassed | Denied | Invalid
        )
    });
    // Lost leases are so rare that one part may have none. A test of whole turns always has one.
    let endings: Vec<&str> = ENDINGS
        .into_iter()
        .filter(|ending| *ending != "LeaseLost")
        .collect();
    run(
        number * SEEDS..(number + 1) * SEEDS,
        Store::Memory,
        &endings,
        &kinds,
    );
}

faults::parts! {
    part:
    schedules_0 0
    schedules_1 1
    schedules_2 2
    schedules_3 3
    schedules_4 4
    schedules_5 5
    schedules_6 6
    schedules_7 7
}

/// Seeds that once broke a guarantee, with the cause.
const ONCE_BROKEN: [(u64, &str); 13] = [
    (
        54_001_848,
        "a busy run was counted after a later one had succeeded",
    ),
    (
        1_350_567_129,
        "two processors left leases that they had acquired without an answer",
    ),
    (1_444_779_447, "a late repetition took a key's new state"),
    (
        2_086_459_955,
        "the breaker opened while an answer was being settled",
    ),
    (
        2_087_457_907,
        "a slow clock saw the lease of a lost release",
    ),
    (
        478_739_854,
        "after a probe, tasks below the head came before newer ones",
    ),
    (
        478_740_904,
        "a probe took from a page that grew too old meanwhile",
    ),
    (
        443_824_090,
        "a probe took from a page that grew too old meanwhile",
    ),
    (
        364_444_146,
        "the ledger kept the order of a key that was deleted while PENDING",
    ),
    (510_037_544, "a crash emptied the bucket of a quiet group"),
    (3_515_399_679, "a limit kept the setting's larger burst"),
    (
        2_213_073_166,
        "a limit of three starts per second allowed four at once",
    ),
    (
        1_360_334_094,
        "a steady schedule's limit left no start for the task that must run alone",
    ),
];

#[test]
fn schedules_that_once_broke_a_guarantee_no_longer_do() {
    for (seed, why) in ONCE_BROKEN {
        let violations = play(seed, Store::Memory).violations;
        assert!(violations.is_empty(), "seed {seed} ({why}): {violations:?}");
    }
}

#[test]
fn same_seed_replays_the_same_schedule() {
    let seeds = [1, 2, 3, 17, 99, 1_234].into_iter().chain(5_000..5_020);
    replay(seeds, Store::Memory);
}
