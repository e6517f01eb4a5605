//! Many seeds, their figures, and what must have occurred among them.

use std::ops::Range;

use simulator::cloud::{self, Builder, Census, FaultKind, Report};
use simulator::seeds::Seeds;

use crate::schedule::Schedule;

/// Lines of the trace that a failure prints.
const TAIL: usize = 120;

/// Which store the schedules are played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// The one in memory.
    Memory,
    /// The embedded DynamoDB, through the real SDK's client.
    Embedded,
}

/// Plays one seed.
///
/// # Panics
/// If the embedded DynamoDB does not start.
#[must_use]
#[allow(clippy::expect_used, reason = "a test without its store cannot go on")]
pub fn play(seed: u64, store: Store) -> Report {
    cloud::play(seed, async |builder: Builder| {
        let (most_tasks, builder) = match store {
            Store::Memory => (24, builder),
            Store::Embedded => (10, builder.embedded().expect("an embedded DynamoDB")),
        };
        let schedule = Schedule::of(seed, most_tasks);
        let cloud = builder
            .settings(schedule.settings)
            .faults(schedule.rates.clone(), schedule.faults_for)
            .script(schedule.script())
            .start();
        schedule.play(&cloud).await;
        cloud.finish()
    })
}

/// Plays every seed of a range, or those that [`Seeds`] takes in its place, and prints the figures.
///
/// # Panics
/// At the first seed in which a guarantee was broken: prints how to play it again, and the end
/// of its trace; and if a kind of fault or of ending never occurred.
#[allow(clippy::print_stdout, reason = "the figures are the tests' output")]
pub fn run(seeds: Range<u64>, store: Store, endings: &[&str], faults: &[FaultKind]) {
    let Seeds { range, usual } = Seeds::of(seeds);
    let alone = range.end - range.start == 1;
    let mut census = Census::default();
    for seed in range {
        let report = play(seed, store);
        if !report.violations.is_empty() || alone {
            let tail = report
                .trace
                .len()
                .saturating_sub(if alone { usize::MAX } else { TAIL });
            println!("{}", report.trace[tail..].join("\n"));
        }
        assert!(
            report.violations.is_empty(),
            "seed {seed}: {:#?}\nplay it again: FRESHQ_SEED={seed} cargo nextest run --package faults",
            report.violations
        );
        census.add(&report.census);
    }
    println!("fault schedules on {store:?}: {census}");
    if !usual {
        return;
    }
    for kind in faults {
        assert!(census.faults.contains_key(kind), "{kind:?} never occurred");
    }
    for exit in endings {
        assert!(census.turns.contains_key(*exit), "no turn ended {exit}");
    }
}

/// Every way in which a turn can end.
pub const ENDINGS: [&str; 7] = [
    "AlreadyActive",
    "Empty",
    "Failed",
    "LeaseLost",
    "NoProgress",
    "Paused",
    "TimeUp",
];
