//! Implements the actions of AWS: deliver, redeliver and lose messages, expire leases, and update
//! the index late.

use crate::action::Action;
use crate::mutation::Mutation;
use crate::processor;
use crate::protocol::{Protocol, spend};
use crate::state::{Message, Owner, Source, State, Status, Step, TaskNumber};
use crate::waker;

pub fn actions(protocol: &Protocol, state: &State, actions: &mut Vec<Action>) {
    for (number, task) in (0..protocol.tasks).zip(&state.tasks) {
        if task.lags() {
            actions.push(Action::IndexCatchesUp(number));
        }
    }
    if next_insert(protocol, state).is_some() {
        actions.push(Action::Insert);
    }
    if state.budget.newer_states > 0 {
        let keys = (0..protocol.tasks).zip(&state.tasks);
        let there = keys.filter(|(_, task)| task.status != Status::Absent);
        actions.extend(there.map(|(number, _)| Action::Replace(number)));
    }
    deliveries(state, actions);
    clock(protocol, state, actions);
}

fn deliveries(state: &State, actions: &mut Vec<Action>) {
    if state.stream > 0 {
        actions.push(Action::DeliverBatch(1));
    }
    if state.stream > 1 {
        actions.push(Action::DeliverBatch(state.stream));
    }
    if state.tail_calls > 0 {
        actions.push(Action::DeliverTailCall);
        if state.budget.duplicates > 0 {
            actions.push(Action::DuplicateTailCall);
        }
        if state.budget.losses > 0 {
            actions.push(Action::LoseTailCall);
        }
    }
    let free = state.processors.iter().any(Option::is_none);
    let mut previous = None;
    for &message in &state.messages {
        if previous == Some(message) {
            continue;
        }
        previous = Some(message);
        if free {
            actions.push(Action::Deliver(message));
        }
        if state.budget.duplicates > 0 {
            actions.push(Action::Duplicate(message));
        }
        if state.budget.losses > 0 {
            actions.push(Action::Lose(message));
        }
    }
}

/// A crashed holder's lease can expire at any time. An active holder's lease expires only through a
/// fault from the budget.
fn clock(protocol: &Protocol, state: &State, actions: &mut Vec<Action>) {
    if let Some((owner, _)) = state.control.owner {
        let works = state.processors.iter().flatten().any(|p| p.owner == owner);
        if state.control.live && (!works || state.budget.slow_processors > 0) {
            actions.push(Action::ProcessorLeaseEnds);
        }
    }
    for (number, task) in (0..).zip(&state.tasks) {
        let Status::Taken { token, live: true } = task.status else {
            continue;
        };
        let ends = match token {
            // Only the sweep would notice this expiry.
            Owner::Gone => protocol.sweep,
            _ => state.budget.slow_runs > 0,
        };
        if ends {
            actions.push(Action::TaskLeaseEnds(number));
        }
    }
    if state.control.marker.is_some() && state.budget.marker_ends > 0 {
        actions.push(Action::MarkerEnds);
    }
}

fn next_insert(protocol: &Protocol, state: &State) -> Option<TaskNumber> {
    (0..protocol.tasks).find(|&task| state.tasks[task as usize].status == Status::Absent)
}

/// A writer inserts the next task. Its record is immediately in the stream, but not in the index.
pub fn insert(protocol: &Protocol, state: &mut State) {
    if let Some(task) = next_insert(protocol, state) {
        state.write(task, Status::Pending);
        state.stream += 1;
    }
}

/// A writer puts a newer state of a key. A running task becomes PENDING when its run ends. A
/// pending task moves in the index. For some time, the index shows neither its old nor its new
/// position.
pub fn replace(protocol: &Protocol, state: &mut State, number: TaskNumber) {
    spend(&mut state.budget.newer_states);
    let silent = match state.tasks[number as usize].status {
        Status::Absent => return,
        Status::Taken { .. } => {
            state.tasks[number as usize].overtaken = true;
            return;
        }
        Status::Pending => {
            state.tasks[number as usize].shown = false;
            Mutation::MoveUnannounced
        }
        Status::Done => Mutation::NewerStateUnannounced,
    };
    state.write(number, Status::Pending);
    if !protocol.mutated(silent) {
        state.stream += 1;
    }
}

pub fn index_catches_up(state: &mut State, number: TaskNumber) {
    let task = &mut state.tasks[number as usize];
    task.shown = task.status == Status::Pending;
    state.no_longer_awaited(number);
}

pub fn deliver_batch(protocol: &Protocol, state: &mut State, records: u8) {
    state.stream -= records;
    waker::start(protocol, state, Source::Stream);
}

pub fn deliver_tail_call(protocol: &Protocol, state: &mut State) {
    state.tail_calls -= 1;
    waker::start(protocol, state, Source::TailCall);
}

pub fn deliver(protocol: &Protocol, state: &mut State, message: Message) {
    let slot = state.processors.iter().position(Option::is_none);
    if let (Some(slot), true) = (slot, remove(state, message)) {
        processor::start(protocol, state, slot as u8, message);
    }
}

/// Schedules another delivery of a message, as a separate invocation with its own retries.
pub fn duplicate(protocol: &Protocol, state: &mut State, message: Message) {
    spend(&mut state.budget.duplicates);
    state.put_message(Message {
        retries: protocol.retries,
        ..message
    });
}

pub fn lose(state: &mut State, message: Message) {
    spend(&mut state.budget.losses);
    if remove(state, message) {
        state.message_is_gone(message.id);
    }
}

fn remove(state: &mut State, message: Message) -> bool {
    let position = state
        .messages
        .iter()
        .position(|&waiting| waiting == message);
    position
        .map(|position| state.messages.remove(position))
        .is_some()
}

pub fn duplicate_tail_call(state: &mut State) {
    spend(&mut state.budget.duplicates);
    state.tail_calls += 1;
}

pub fn lose_tail_call(state: &mut State) {
    spend(&mut state.budget.losses);
    state.tail_calls -= 1;
    state.history.lost = true;
}

pub fn crash_processor(state: &mut State, slot: u8) {
    spend(&mut state.budget.crashes);
    processor::fail(state, slot);
}

pub fn processor_lease_ends(state: &mut State) {
    state.control.live = false;
    let Some((owner, _)) = state.control.owner else {
        return;
    };
    for processor in state.processors.iter_mut().flatten() {
        if processor.owner == owner {
            processor.holds = false;
            spend(&mut state.budget.slow_processors);
        }
    }
}

pub fn task_lease_ends(state: &mut State, number: TaskNumber) {
    let Status::Taken { token, live } = &mut state.tasks[number as usize].status else {
        return;
    };
    *live = false;
    let Owner::Attempt(slot) = *token else { return };
    spend(&mut state.budget.slow_runs);
    if let Some(processor) = &mut state.processors[slot as usize]
        && let Step::Run { task, live } = &mut processor.step
        && *task == number
    {
        *live = false;
    }
}

pub fn marker_ends(state: &mut State) {
    spend(&mut state.budget.marker_ends);
    state.control.marker = None;
}
