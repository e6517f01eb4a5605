//! The properties that hold in every state. Properties about waiting are expressed in terms of
//! *quiet* states: nothing is in flight and no process is active, so a due task would never run.

use crate::protocol::Protocol;
use crate::state::{State, Status, Step};
use stateright::Property;

pub const NO_TASK_WAITS_ALONE: &str = "W1 no due task waits without an active processor";
pub const ONE_PROCESSOR: &str = "W2 one processor at a time holds an unexpired lease";
pub const WAKE_UPS_BY_ACTIVATION: &str = "W3 notifications are bounded by activations";
pub const ONE_WORKER: &str = "S1 one worker at a time runs a task under an unexpired lease";
/// Name of the part of S1 that covers late workers.
pub const NO_TRESPASS: &str = "S1 no process changes a task of another lease, or a settled one";
/// Name of the part of S3 that the protocol guarantees.
pub const NO_TASK_STRANDED: &str = "S3 no task stays TAKEN, unless its worker crashed";
pub const NO_STATE_LOST: &str = "S3 no newer state of a key is settled without a run";
pub const NO_ENDLESS_IDLING: &str = "rule 10 turns that settle nothing end their tail calls";

/// Returns all properties. `W1` has exceptions that only the sweep can repair: a lost notification,
/// tail calls ended by rule 10, and a crash between a late return and its wake-up request. Other
/// crashes aren't exceptions, because the platform redelivers the message of a crashed attempt.
pub fn properties() -> Vec<Property<Protocol>> {
    vec![
        Property::always(NO_TASK_WAITS_ALONE, |_, state: &State| {
            let waits = state
                .tasks
                .iter()
                .any(|task| task.status == Status::Pending);
            !(state.quiet() && waits) || state.history.lost
        }),
        Property::always(ONE_PROCESSOR, |_, state: &State| {
            state
                .processors
                .iter()
                .flatten()
                .filter(|processor| processor.holds)
                .count()
                <= 1
        }),
        Property::always(WAKE_UPS_BY_ACTIVATION, |_, state: &State| {
            state.history.published <= state.history.acquired + 1
        }),
        Property::always(ONE_WORKER, |protocol: &Protocol, state: &State| {
            (0..protocol.tasks).all(|number| workers(state, number) <= 1)
        }),
        Property::always(NO_TRESPASS, |_, state: &State| !state.history.trespass),
        Property::always(NO_TASK_STRANDED, |_, state: &State| {
            let taken = state
                .tasks
                .iter()
                .any(|t| matches!(t.status, Status::Taken { .. }));
            !(state.quiet() && taken) || state.history.stranded
        }),
        Property::always(NO_STATE_LOST, |_, state: &State| !state.history.lost_state),
        Property::always(NO_ENDLESS_IDLING, |protocol: &Protocol, state: &State| {
            protocol
                .idle_bound
                .is_none_or(|bound| state.history.idle_tail_calls < bound)
        }),
    ]
}

fn workers(state: &State, number: u8) -> usize {
    let runs = |step| matches!(step, Step::Run { task, live: true } if task == number);
    state
        .processors
        .iter()
        .flatten()
        .filter(|processor| runs(processor.step))
        .count()
}
