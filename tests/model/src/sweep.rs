//! Implements rule 8. Once per minute, the sweep returns tasks with expired leases, and wakes a
//! processor when a due task is visible and no lease is live.

use crate::action::Action;
use crate::mutation::Mutation;
use crate::protocol::{Protocol, spend};
use crate::state::{Source, State, Status, TaskNumber};
use crate::waker;

pub fn actions(protocol: &Protocol, state: &State, actions: &mut Vec<Action>) {
    if !protocol.sweep {
        return;
    }
    if state.sweeping.is_some() {
        actions.push(Action::SweepReturns);
        return;
    }
    if !state.quiet() && state.budget.early_sweeps == 0 {
        return;
    }
    for (number, task) in (0..).zip(&state.tasks) {
        if matches!(task.status, Status::Taken { live: false, .. }) {
            actions.push(Action::SweepReads(number));
        }
    }
    let wakes = !protocol.mutated(Mutation::SweepNeverWakes);
    if wakes && !state.control.live && state.tasks.iter().any(|task| task.shown) {
        actions.push(Action::SweepWakes);
    }
}

fn come(state: &mut State) {
    if !state.quiet() {
        spend(&mut state.budget.early_sweeps);
    }
}

/// Reads a TAKEN task whose lease has expired.
pub fn read(state: &mut State, number: TaskNumber) {
    come(state);
    if let Status::Taken { token, .. } = state.tasks[number as usize].status {
        state.sweeping = Some((number, token));
    }
}

/// Returns the task if it is still TAKEN with an expired lease and the token that was read. Then
/// requests a wake-up (rule 1), because an active processor may have missed the task.
pub fn return_task(protocol: &Protocol, state: &mut State) {
    let Some((number, read)) = state.sweeping.take() else {
        return;
    };
    let current = state.tasks[number as usize].status;
    let same = matches!(current, Status::Taken { token, live } if token == read && !live);
    let blind = protocol.mutated(Mutation::SweepWithoutCondition);
    if !same && !blind {
        return;
    }
    state.history.trespass |= !same && current != Status::Pending;
    state.end_run(number, Status::Pending);
    if !protocol.mutated(Mutation::SweepNeverWakes) {
        waker::start(protocol, state, Source::Sweep);
    }
}

pub fn wake(protocol: &Protocol, state: &mut State) {
    come(state);
    waker::start(protocol, state, Source::Sweep);
}
