//! Compares a store with the reference, one sequence at a time.

use sequences::{Figures, Plan, Rule as _, Sequence};
use tokio::runtime::Runtime;

use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::operation::{Operation, Rule};
use crate::subject::{Failure, Snapshot, Subject, perform, snapshot};

/// Runs sequences, each on a fresh store. After every operation, the store's answer and content
/// must equal those of the reference.
pub fn hold<S: Subject>(
    plan: &Plan,
    runtime: &Runtime,
    fresh: impl AsyncFn() -> Result<S, Failure>,
) -> Result<Figures<Rule>, String> {
    sequences::hold::<Machine, _>(plan, runtime, async |sequence, figures| {
        let store = fresh().await.map_err(|failure| failure.to_string())?;
        run(&store, sequence, figures).await
    })
}

async fn run(
    store: &impl Subject,
    sequence: Sequence<'_, Machine, Operation>,
    figures: &mut Figures<Rule>,
) -> Result<(), String> {
    let operations = sequence.operations();
    let mut machine = sequence.start;
    let (mut ledger, mut before) = (Ledger::default(), Snapshot::default());
    for operation in operations {
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
        figures.count(operation.name(), answer.is_rejection(), rule);
    }
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
    if stored.groups != queue.groups {
        let (expected, found) = (&queue.groups, &stored.groups);
        return Err(format!(
            "  expected item of groups {expected:?}\n  stored item of groups   {found:?}"
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
