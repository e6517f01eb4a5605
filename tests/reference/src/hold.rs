//! Compares a store with the reference, sequence by sequence.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use tokio::runtime::Runtime;

use crate::figures::Figures;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::operation::Operation;
use crate::subject::{Failure, Snapshot, Subject, perform, snapshot};

/// The amount to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of sequences.
    pub sequences: u32,
    /// Operations in each sequence.
    pub length: RangeInclusive<usize>,
    /// The test's source file, beside which the seeds of failures are kept.
    pub source_file: &'static str,
}

/// The largest number of times that the planned sequences are drawn until every rule has applied.
const MOST_DRAWS: u32 = 4;

/// Runs sequences, each on a fresh store. After every operation, the answer and everything stored
/// must equal the reference's. Draws the sequences again if a rule never applied, because a few
/// sequences may miss a rare rule by chance.
///
/// The sequences are `proptest-state-machine`'s. Its own test loop is not used: a store is
/// asynchronous, and all sequences share one server.
///
/// # Errors
/// The shortest failing sequence found, and the difference.
pub fn hold<S: Subject>(
    plan: Plan,
    runtime: &Runtime,
    fresh: impl AsyncFn() -> Result<S, Failure>,
) -> Result<Figures, String> {
    let config = Config {
        cases: plan.sequences,
        source_file: Some(plan.source_file),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        max_shrink_iters: 4_000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let figures = RefCell::new(Figures::default());
    let strategy = Machine::sequential_strategy(plan.length);
    let one = |(machine, operations, seen): (Machine, Vec<Operation>, _)| {
        let mut counted = figures.take();
        let run = async {
            let store = fresh().await.map_err(|failure| failure.to_string())?;
            sequence(&store, machine, &operations, seen, &mut counted).await
        };
        let held = runtime.block_on(run);
        figures.replace(counted);
        held.map_err(TestCaseError::fail)
    };
    for _ in 0..MOST_DRAWS {
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

/// Performs these operations on a fresh store. After each, the answer and everything stored must
/// equal the reference's.
///
/// # Errors
/// The first difference, and the operations.
pub async fn replay(store: &impl Subject, operations: &[Operation]) -> Result<(), String> {
    let mut figures = Figures::default();
    let held = sequence(store, Machine::start(), operations, None, &mut figures).await;
    held.map_err(|reason| counterexample(&reason, operations))
}

async fn sequence(
    store: &impl Subject,
    mut machine: Machine,
    operations: &[Operation],
    seen: Option<Arc<AtomicUsize>>,
    figures: &mut Figures,
) -> Result<(), String> {
    let (mut ledger, mut before) = (Ledger::default(), Snapshot::default());
    for operation in operations {
        if let Some(seen) = &seen {
            // Tells proptest's shrinking how many operations were performed.
            seen.fetch_add(1, Ordering::SeqCst);
        }
        let failed = |failure: Failure| format!("{}: {failure}", operation.name());
        machine.perform(operation);
        let Some((expected, rule)) = machine.last.clone() else {
            return Err("the reference has no answer".to_owned());
        };
        let answer = perform(store, operation, &before).await.map_err(failed)?;
        if answer != expected {
            return Err(format!(
                "{}\n  expected answer {expected:?}\n  actual answer   {answer:?}",
                rule.row()
            ));
        }
        let after = snapshot(store).await.map_err(failed)?;
        same(&machine, &after).map_err(|difference| format!("{}\n{difference}", rule.row()))?;
        ledger.enter(operation, &answer, &before, &after)?;
        before = after;
        figures.count(operation, &answer, rule);
    }
    figures.sequences += 1;
    Ok(())
}

/// Compares the stored control item and tasks with the reference's.
fn same(machine: &Machine, stored: &Snapshot) -> Result<(), String> {
    let queue = &machine.queue;
    if stored.control != queue.control {
        let (expected, found) = (&queue.control, &stored.control);
        return Err(format!(
            "  expected control item {expected:?}\n  stored control item   {found:?}"
        ));
    }
    let ids = queue.tasks.keys().chain(stored.tasks.keys());
    for id in ids {
        let (expected, found) = (queue.tasks.get(id), stored.tasks.get(id));
        if expected != found {
            return Err(format!(
                "  expected {id}: {expected:?}\n  stored   {id}: {found:?}"
            ));
        }
    }
    Ok(())
}

fn counterexample(reason: &str, operations: &[Operation]) -> String {
    let mut text = reason.to_owned();
    text.push_str("\nafter");
    for (number, operation) in (1..).zip(operations) {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  {number}. {operation:?}");
    }
    text
}
