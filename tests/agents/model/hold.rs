//! Compares the queue on a store with the reference, sequence by sequence.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_queue::store::Order;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use tokio::runtime::Runtime;

use super::figures::Figures;
use super::ledger::Ledger;
use super::machine::Machine;
use super::operation::{Answer, Operation};
use super::subject::{Failure, Subject};
use crate::rows::Rows;

/// The amount to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of sequences.
    pub sequences: u32,
    /// Requests in each sequence.
    pub length: RangeInclusive<usize>,
    /// The test's source file, beside which the seeds of failures are kept.
    pub source_file: &'static str,
}

/// Runs sequences, each on a fresh store. After every request, the answer and everything stored
/// must equal the reference's.
///
/// The sequences are `proptest-state-machine`'s. Its own test loop is not used: a store is
/// asynchronous, and all sequences share one server.
///
/// # Errors
/// The shortest failing sequence found, and the difference.
pub fn hold(
    plan: Plan,
    runtime: &Runtime,
    fresh: impl AsyncFn(Order) -> Result<Subject, Failure>,
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
    let outcome = TestRunner::new(config).run(&strategy, |(machine, operations, seen)| {
        let mut counted = figures.take();
        let run = async {
            let subject = fresh(machine.reference.order).await;
            let subject = subject.map_err(|failure| failure.to_string())?;
            sequence(subject, machine, &operations, seen, &mut counted).await
        };
        let held = runtime.block_on(run);
        figures.replace(counted);
        held.map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => Ok(figures.into_inner()),
        Err(TestError::Fail(reason, (_, operations, _))) => {
            Err(counterexample(&reason.to_string(), &operations))
        }
        Err(TestError::Abort(reason)) => Err(reason.to_string()),
    }
}

async fn sequence(
    mut subject: Subject,
    mut machine: Machine,
    operations: &[Operation],
    seen: Option<Arc<AtomicUsize>>,
    figures: &mut Figures,
) -> Result<(), String> {
    let mut ledger = Ledger::new(machine.reference.order);
    let mut before = Rows::new();
    for operation in operations {
        if let Some(seen) = &seen {
            // Tells proptest's shrinking how many requests were performed.
            seen.fetch_add(1, Ordering::SeqCst);
        }
        let failed = |failure: Failure| format!("{}: {failure}", operation.wish.name());
        machine.perform(operation);
        let Some((expected, rule)) = machine.last.clone() else {
            return Err("the reference has no answer".to_owned());
        };
        let answer = subject.perform(operation).await.map_err(failed)?;
        let after = subject.rows().await.map_err(failed)?;
        let table = machine.reference.rows();
        subject.learn(&after, &table);
        let (answer, after) = numbered(&subject, answer, after);
        if answer != expected {
            return Err(format!(
                "{}\n  expected answer {expected:?}\n  actual answer   {answer:?}",
                rule.row()
            ));
        }
        same(&table, &after).map_err(|difference| format!("{}\n{difference}", rule.row()))?;
        ledger.enter(&answer, &before, &after)?;
        before = after;
        figures.count(operation, &answer, rule);
    }
    figures.sequences += 1;
    Ok(())
}

/// Replaces the store's tickets by the reference's.
fn numbered(subject: &Subject, mut answer: Answer, mut rows: Rows) -> (Answer, Rows) {
    let shown = answer.rows.iter_mut().chain(&mut answer.heard);
    for row in shown.chain(rows.values_mut()) {
        subject.numbered(row);
    }
    (answer, rows)
}

/// Compares the stored rows with the reference's.
fn same(expected: &Rows, stored: &Rows) -> Result<(), String> {
    for key in expected.keys().chain(stored.keys()) {
        let (expected, found) = (expected.get(key), stored.get(key));
        if expected != found {
            return Err(format!(
                "  expected {key:?}: {expected:?}\n  stored   {key:?}: {found:?}"
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
