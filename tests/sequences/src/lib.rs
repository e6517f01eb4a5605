//! # Random sequences of operations on a system and its reference
//!
//! The references of both queues use this crate. Each reference defines its operations, its rules with
//! [`rules!`], and the comparison of one sequence. [`hold`] draws, runs and shrinks the sequences.

mod figures;
pub mod json;
mod rule;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use tokio::runtime::Runtime;

pub use self::figures::Figures;
pub use self::rule::Rule;

/// The number and length of the sequences to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub sequences: u32,
    /// Number of operations per sequence.
    pub length: RangeInclusive<usize>,
    /// Maximum number of draws. The sequences are drawn again if a rule never applied, because a
    /// small number of sequences can miss a rare rule by chance.
    pub draws: u32,
    /// The test's source file. The seeds of failures are kept next to it.
    pub source_file: &'static str,
}

impl Plan {
    /// Plans sequences of at least half the maximum length, ten times as many with `FRESHQ_SOAK=1`.
    pub fn new(sequences: u32, longest: usize, draws: u32, source_file: &'static str) -> Self {
        let soaks = std::env::var("FRESHQ_SOAK").is_ok_and(|value| value == "1");
        Self {
            sequences: if soaks { 10 * sequences } else { sequences },
            length: longest / 2..=longest,
            draws,
            source_file,
        }
    }
}

pub struct Sequence<'a, S, O> {
    pub start: S,
    operations: &'a [O],
    seen: Option<Arc<AtomicUsize>>,
}

impl<'a, S, O> Sequence<'a, S, O> {
    /// Returns the operations in order. Records how many were performed for proptest's shrinking.
    pub fn operations(&self) -> impl Iterator<Item = &'a O> + use<'a, S, O> {
        let seen = self.seen.clone();
        self.operations.iter().inspect(move |_| {
            if let Some(seen) = &seen {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        })
    }
}

/// Runs sequences with `run`, each on a fresh system, and counts them.
///
/// The sequences come from `proptest-state-machine`. Its own test loop is not used, because stores
/// are asynchronous and all sequences share one server.
pub fn hold<M: ReferenceStateMachine, R: Rule>(
    plan: &Plan,
    runtime: &Runtime,
    run: impl AsyncFn(Sequence<'_, M::State, M::Transition>, &mut Figures<R>) -> Result<(), String>,
) -> Result<Figures<R>, String> {
    let config = Config {
        cases: plan.sequences,
        source_file: Some(plan.source_file),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        max_shrink_iters: 4_000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let figures = RefCell::new(Figures::default());
    let strategy = M::sequential_strategy(plan.length.clone());
    let one = |(start, operations, seen): (M::State, Vec<M::Transition>, _)| {
        let mut counted = figures.take();
        let sequence = Sequence {
            start,
            operations: &operations,
            seen,
        };
        let held = runtime.block_on(run(sequence, &mut counted));
        counted.sequences += u64::from(held.is_ok());
        figures.replace(counted);
        held.map_err(TestCaseError::fail)
    };
    for _ in 0..plan.draws {
        match TestRunner::new(config.clone()).run(&strategy, one) {
            Ok(()) if figures.borrow().unused().is_empty() => break,
            Ok(()) => {}
            Err(TestError::Fail(reason, (_, operations, _))) => {
                return Err(counterexample(&reason.to_string(), &operations));
            }
            Err(TestError::Abort(reason)) => return Err(reason.to_string()),
        }
    }
    Ok(figures.into_inner())
}

/// Describes the difference and the operations that lead to it.
fn counterexample(reason: &str, operations: &[impl std::fmt::Debug]) -> String {
    let mut text = reason.to_owned();
    text.push_str("\nafter");
    for (number, operation) in (1..).zip(operations) {
        // Writing to a string can't fail.
        let _ = write!(text, "\n  {number}. {operation:?}");
    }
    text
}
