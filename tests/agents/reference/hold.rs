//! Compares the queue on a store with the reference, one sequence at a time.

use agent_queue::store::Order;
use sequences::{Figures, Plan, Rule as _, Sequence};
use tokio::runtime::Runtime;

use super::ledger::Ledger;
use super::machine::Machine;
use super::operation::{Operation, Response};
use super::rule::Rule;
use super::subject::{Failure, Subject};
use crate::rows::Rows;

/// Runs sequences, each on a fresh store. After every request, the response and the entire content
/// of the store must equal the reference's.
pub fn hold(
    plan: &Plan,
    runtime: &Runtime,
    fresh: impl AsyncFn(Order) -> Result<Subject, Failure>,
) -> Result<Figures<Rule>, String> {
    sequences::hold::<Machine, _>(plan, runtime, async |sequence, figures| {
        let subject = fresh(sequence.start.reference.order).await;
        let subject = subject.map_err(|failure| failure.to_string())?;
        run(subject, sequence, figures).await
    })
}

async fn run(
    mut subject: Subject,
    sequence: Sequence<'_, Machine, Operation>,
    figures: &mut Figures<Rule>,
) -> Result<(), String> {
    let operations = sequence.operations();
    let mut machine = sequence.start;
    let mut ledger = Ledger::new(machine.reference.order);
    let mut before = Rows::new();
    for operation in operations {
        let failed = |failure: Failure| format!("{}: {failure}", operation.wish.name());
        machine.perform(operation);
        let Some((expected, rule)) = machine.last.clone() else {
            return Err("the reference has no response".to_owned());
        };
        let response = subject.perform(operation).await.map_err(failed)?;
        let after = subject.rows().await.map_err(failed)?;
        let table = machine.reference.rows();
        subject.learn(&after, &table);
        let (response, after) = numbered(&subject, response, after);
        if response != expected {
            return Err(format!(
                "{}\n  expected response {expected:?}\n  actual response   {response:?}",
                rule.row()
            ));
        }
        same(&table, &after).map_err(|difference| format!("{}\n{difference}", rule.row()))?;
        ledger.enter(&response, &before, &after)?;
        before = after;
        figures.count(operation.wish.name(), response.is_rejection(), rule);
    }
    Ok(())
}

/// Replaces the store's tickets with the reference's.
fn numbered(subject: &Subject, mut response: Response, mut rows: Rows) -> (Response, Rows) {
    let shown = response.rows.iter_mut().chain(&mut response.heard);
    for row in shown.chain(rows.values_mut()) {
        subject.numbered(row);
    }
    (response, rows)
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
