//! Runs many seeds, prints their figures, and checks that the required events occurred.

use std::ops::Range;

use simulator::cloud::{self, Builder, Census, Report};
use simulator::fault::Fault;
use simulator::seeds::Seeds;

use crate::schedule::Schedule;

/// Name under which the tasks that admission shed are counted.
const NOT_ADMITTED: &str = "not admitted";

/// Number of trace lines that a failure prints.
const TAIL: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Memory,
    /// The embedded DynamoDB, through the real SDK client.
    Embedded,
}

/// Runs one seed.
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
        let broken = schedule.play(&cloud).await;
        let mut report = cloud.finish();
        report.violations.extend(broken);
        let not_admitted = schedule.not_admitted();
        if not_admitted > 0 {
            report
                .census
                .ends
                .insert(NOT_ADMITTED.to_owned(), not_admitted);
        }
        report
    })
}

/// Runs each seed twice.
///
/// # Panics
/// If the two runs differ.
pub fn replay(seeds: impl IntoIterator<Item = u64>, store: Store) {
    for seed in seeds {
        let (first, second) = (play(seed, store), play(seed, store));
        let mut lines = first.trace.iter().zip(&second.trace);
        assert_eq!(lines.find(|(a, b)| a != b), None, "seed {seed}");
        assert_eq!(first.trace.len(), second.trace.len(), "seed {seed}");
        assert_eq!(first.census, second.census, "seed {seed}");
    }
}

/// Runs every seed in a range, or the seeds that [`Seeds`] selects instead, and prints the figures.
#[allow(clippy::print_stdout, reason = "the figures are the tests' output")]
pub fn run(seeds: Range<u64>, store: Store, endings: &[&str], faults: &[Fault]) {
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
            "seed {seed}: {:#?}\nplay it again: FRESHQ_SEED={seed} make test-rust F='package(faults)'",
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
    let storms = store == Store::Embedded || census.ends.contains_key(NOT_ADMITTED);
    assert!(storms, "admission shed no task");
    for event in BESIDE_RUNS.iter().filter(|_| store == Store::Memory) {
        assert!(census.slots.contains_key(event), "no {event}");
    }
    for exit in endings {
        assert!(census.turns.contains_key(*exit), "no turn ended {exit}");
    }
}

/// What can happen to a task between its take and its start, or between its run and its settlement,
/// while other runs go on. The embedded store names its requests differently.
const BESIDE_RUNS: [&str; 7] = [
    "take ahead without a response",
    "rejected take ahead",
    "returned unstarted",
    "returned unstarted, breaker open",
    "died before a start",
    "start beside a failed settlement",
    "died before a settlement",
];

/// All ways in which a turn can end.
pub const ENDINGS: [&str; 7] = [
    "AlreadyActive",
    "Empty",
    "Failed",
    "LeaseLost",
    "NoProgress",
    "Paused",
    "TimeUp",
];

/// Defines tests that each run a part of the seeds. nextest runs them in parallel.
#[macro_export]
macro_rules! parts {
    ($run:ident: $($name:ident $number:literal)*) => {$(
        #[test]
        fn $name() {
            $run($number);
        }
    )*};
}
