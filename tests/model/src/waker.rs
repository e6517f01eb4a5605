//! Implements rules 1 and 9, by which processes request a wake-up.
//!
//! `trigger` requests a wake-up per stream batch and per tail call. The sweep requests one for a
//! due task and for a returned task. A single write counts the request and returns the lease for
//! the decision. A lease released before the count is therefore not live in the response, and a
//! release after the count is rejected.

use crate::action::{Action, Fate};
use crate::mutation::Mutation;
use crate::processor;
use crate::protocol::{Protocol, spend};
use crate::state::{Message, Source, State, Waker, WakerStep};

pub fn actions(state: &State, actions: &mut Vec<Action>) {
    for (position, waker) in (0..).zip(&state.wakers) {
        actions.push(Action::Wake(position, Fate::Works));
        if state.budget.lost_responses > 0 && waker.step != WakerStep::ReadFirst {
            actions.push(Action::Wake(position, Fate::ResponseLost));
        }
        if state.budget.errors > 0 && waker.step == WakerStep::Publish {
            actions.push(Action::Wake(position, Fate::Fails));
        }
        // A crash before the first write only causes a delay, unless a returned task is forgotten.
        let forgets = matches!(waker.source, Source::LateReturn(_));
        if state.budget.crashes > 0 && (forgets || waker.step > first_step_written()) {
            actions.push(Action::CrashWaker(position));
        }
    }
}

fn first_step_written() -> WakerStep {
    WakerStep::Add { saw_live: None }
}

pub fn start(protocol: &Protocol, state: &mut State, source: Source) {
    let event = state.fresh_event();
    state.put_waker(Waker {
        source,
        event,
        step: first_step(protocol),
    });
}

fn first_step(protocol: &Protocol) -> WakerStep {
    if protocol.mutated(Mutation::LeaseReadBeforeAdd) {
        WakerStep::ReadFirst
    } else {
        first_step_written()
    }
}

pub fn step(protocol: &Protocol, state: &mut State, position: u8, fate: Fate) {
    let waker = state.wakers.remove(position as usize);
    let next = match (waker.step, fate) {
        (_, Fate::Fails) => {
            spend(&mut state.budget.errors);
            if protocol.mutated(Mutation::PublishErrorSwallowed) {
                return;
            }
            return fail(protocol, state, waker);
        }
        (WakerStep::ReadFirst, _) => Some(WakerStep::Add {
            saw_live: Some(state.control.live),
        }),
        (WakerStep::Add { saw_live }, _) => add(protocol, state, &waker, saw_live),
        (WakerStep::Mark, _) => mark(state, &waker),
        (WakerStep::Publish, _) => {
            publish(protocol, state, waker.source, fate);
            None
        }
    };
    let next = if fate == Fate::ResponseLost {
        spend(&mut state.budget.lost_responses);
        Some(waker.step)
    } else {
        next
    };
    if let Some(step) = next {
        state.put_waker(Waker { step, ..waker });
    }
}

/// Rule 1: `ADD requested 1`, which also reads the item. Continues only if the item has no live
/// lease and no marker of another event (rule 9). The sweep ignores the marker, because the
/// marker's notification may be lost.
fn add(
    protocol: &Protocol,
    state: &mut State,
    waker: &Waker,
    saw_live: Option<bool>,
) -> Option<WakerStep> {
    if !(protocol.mutated(Mutation::RequestWithoutAdd) && state.control.live) {
        for processor in state.processors.iter_mut().flatten() {
            processor.requested_moved = true;
        }
    }
    if saw_live.unwrap_or(state.control.live) {
        return None;
    }
    if protocol.mutated(Mutation::NoMarker) {
        return Some(WakerStep::Publish);
    }
    let own_may_pass = !protocol.mutated(Mutation::MarkerWithoutOwner);
    let stopped = match state.control.marker {
        None => false,
        Some(marker) => !(marker == waker.event && own_may_pass),
    };
    if stopped && waker.source != Source::Sweep {
        None
    } else {
        Some(WakerStep::Mark)
    }
}

/// Rule 9: sets the marker if no lease is live and no other event's marker is set. After a
/// rejection, another event publishes a notification, or a processor has acquired the lease since
/// this request was counted and will query.
fn mark(state: &mut State, waker: &Waker) -> Option<WakerStep> {
    let foreign = state
        .control
        .marker
        .is_some_and(|marker| marker != waker.event);
    if state.control.live || (foreign && waker.source != Source::Sweep) {
        return None;
    }
    state.control.marker = Some(waker.event);
    Some(WakerStep::Publish)
}

fn publish(protocol: &Protocol, state: &mut State, source: Source, fate: Fate) {
    let id = state.fresh_message();
    state.put_message(Message {
        id,
        retries: protocol.retries,
    });
    if protocol.counts && source != Source::Sweep && fate == Fate::Works {
        state.history.published = state.history.published.saturating_add(1);
    }
}

pub fn crash(protocol: &Protocol, state: &mut State, position: u8) {
    spend(&mut state.budget.crashes);
    let waker = state.wakers.remove(position as usize);
    fail(protocol, state, waker);
}

/// Fails a request. Only a stream batch is retried with the same event id. After a late return, the
/// platform redelivers the message, but the next attempt does not know of the task. Unless the
/// request was counted, only the sweep finds the task.
fn fail(protocol: &Protocol, state: &mut State, waker: Waker) {
    match waker.source {
        Source::Stream => state.put_waker(Waker {
            step: first_step(protocol),
            ..waker
        }),
        Source::TailCall | Source::Sweep => state.history.lost = true,
        Source::LateReturn(message) => {
            state.history.lost |= waker.step <= first_step_written();
            processor::redeliver(state, message);
        }
    }
}
