//! One invocation attempt of `process-tasks`: its start, steps and end.
//!
//! In the model, a processor runs one task at a time, while the code has ten slots. Each step is
//! one table request or one publish. Any other action can happen between two steps.

use crate::action::{Action, Fate};
use crate::mutation::Mutation;
use crate::protocol::{Protocol, spend};
use crate::state::{Message, Owner, Processor, Source, State, Status, Step};
use crate::{lease, newest_first, waker};

pub(crate) enum Next {
    /// The invocation continues with this step.
    Go(Step),
    /// The invocation requests a wake-up (rule 1), and then succeeds.
    Request,
    /// The invocation succeeds, so its message is not redelivered.
    Leave,
    /// The invocation fails, so Lambda retries its message.
    Fail,
}

pub fn actions(protocol: &Protocol, state: &State, actions: &mut Vec<Action>) {
    for (slot, processor) in (0..).zip(&state.processors) {
        let Some(processor) = processor else { continue };
        step_actions(state, slot, processor, actions);
        if lease::heartbeat_matters(protocol, state, processor) {
            actions.push(Action::Heartbeat(slot));
        }
        if lease::may_notice_the_end(processor) {
            actions.push(Action::NoticeLeaseEnd(slot));
        }
        let looks = matches!(processor.step, Step::Look { .. } | Step::Linger { .. });
        if looks && processor.lost_lease.is_none() && state.budget.time_ups > 0 {
            actions.push(Action::TimeUp(slot));
        }
        // A crash before the first write only causes a redelivery.
        if state.budget.crashes > 0 && processor.step != Step::Acquire {
            actions.push(Action::CrashProcessor(slot));
        }
    }
}

fn step_actions(state: &State, slot: u8, processor: &Processor, actions: &mut Vec<Action>) {
    // The wait outlasts the index lag: it ends when the index shows every task that it waits for.
    let waits = matches!(processor.step, Step::Linger { awaits } if awaits & state.lagging() != 0);
    if waits && processor.lost_lease.is_none() {
        return;
    }
    actions.push(Action::Process(slot, Fate::Works));
    let writes = !matches!(processor.step, Step::Look { .. } | Step::Linger { .. });
    if writes && state.budget.lost_responses > 0 {
        actions.push(Action::Process(slot, Fate::ResponseLost));
    }
    if processor.step == Step::TailCall && state.budget.errors > 0 {
        actions.push(Action::Process(slot, Fate::Fails));
    }
    if matches!(processor.step, Step::Run { .. }) && state.budget.returns > 0 {
        actions.push(Action::Return(slot, Fate::Works));
        if state.budget.lost_responses > 0 {
            actions.push(Action::Return(slot, Fate::ResponseLost));
        }
    }
}

pub fn start(protocol: &Protocol, state: &mut State, slot: u8, message: Message) {
    let owner = if protocol.mutated(Mutation::OwnerIsMessageId) {
        Owner::Message(message.id)
    } else {
        Owner::Attempt(slot)
    };
    state.processors[slot as usize] = Some(Processor {
        step: Step::Acquire,
        message,
        owner,
        requested_moved: false,
        holds: false,
        lost_lease: None,
        returned: false,
        settled: false,
        ran: false,
        returned_late: false,
    });
}

pub fn step(protocol: &Protocol, state: &mut State, slot: u8, fate: Fate) {
    let Some(mut processor) = state.processors[slot as usize] else {
        return;
    };
    if fate == Fate::Fails {
        spend(&mut state.budget.errors);
        let swallowed = protocol.mutated(Mutation::TailCallErrorSwallowed);
        let next = if swallowed { Next::Leave } else { Next::Fail };
        return advance(protocol, state, slot, processor, next);
    }
    let next = match processor.step {
        Step::Acquire => lease::acquire(protocol, state, &mut processor),
        Step::Look { below, lingered } => {
            newest_first::look(protocol, state, &mut processor, below, lingered)
        }
        Step::Take { task, lingered } => {
            let next = newest_first::take(protocol, state, slot, task, lingered);
            processor.ran |= protocol.rate_limited && matches!(next, Next::Go(Step::Run { .. }));
            next
        }
        Step::Run { task, .. } => {
            newest_first::settle(protocol, state, slot, &mut processor, task, Status::Done)
        }
        Step::Linger { .. } => newest_first::linger(protocol, &processor),
        Step::Release => lease::release(protocol, state, &mut processor),
        Step::ReleaseForTailCall => lease::release_for_tail_call(protocol, state, &mut processor),
        Step::TailCall => lease::tail_call(protocol, state),
        Step::ReleaseAfterTailCall => {
            lease::free(protocol, state, &mut processor);
            Next::Leave
        }
    };
    finish(protocol, state, slot, processor, next, fate);
}

pub fn return_task(protocol: &Protocol, state: &mut State, slot: u8, fate: Fate) {
    let Some(mut processor) = state.processors[slot as usize] else {
        return;
    };
    let Step::Run { task, .. } = processor.step else {
        return;
    };
    spend(&mut state.budget.returns);
    let next = newest_first::settle(protocol, state, slot, &mut processor, task, Status::Pending);
    finish(protocol, state, slot, processor, next, fate);
}

/// A processor whose response was lost remains at its step and repeats the request.
fn finish(
    protocol: &Protocol,
    state: &mut State,
    slot: u8,
    processor: Processor,
    next: Next,
    fate: Fate,
) {
    if fate == Fate::Works {
        return advance(protocol, state, slot, processor, next);
    }
    spend(&mut state.budget.lost_responses);
    if let Some(before) = &mut state.processors[slot as usize] {
        // The table has changed, but the processor does not know it. Even so, a lease that it wrote
        // is live, and its settles and returns have taken effect.
        if let Step::Run { live, .. } = &mut before.step {
            *live = false;
        }
        before.holds = processor.holds;
        before.settled = processor.settled;
        before.returned = processor.returned;
        before.returned_late = processor.returned_late;
    }
}

fn advance(protocol: &Protocol, state: &mut State, slot: u8, processor: Processor, next: Next) {
    match next {
        Next::Go(step) => state.processors[slot as usize] = Some(Processor { step, ..processor }),
        Next::Request => {
            retire(state, slot);
            waker::start(protocol, state, Source::LateReturn(processor.message));
        }
        Next::Leave => retire(state, slot),
        Next::Fail => fail(state, slot),
    }
}

/// Ends a failed attempt. The platform redelivers its message until the retries are used up.
pub fn fail(state: &mut State, slot: u8) {
    let Some(processor) = state.processors[slot as usize] else {
        return;
    };
    let mine =
        |status| matches!(status, Status::Taken { token: Owner::Attempt(by), .. } if by == slot);
    state.history.stranded |= state.tasks.iter().any(|task| mine(task.status));
    state.history.lost |= processor.returned_late;
    retire(state, slot);
    redeliver(state, processor.message);
}

/// The platform redelivers a message until its retries are used up.
pub(crate) fn redeliver(state: &mut State, Message { id, retries }: Message) {
    if retries > 0 {
        state.put_message(Message {
            id,
            retries: retries - 1,
        });
    } else {
        state.message_is_gone(id);
    }
}

/// Ends the attempt. Its UUID is never used by another attempt.
fn retire(state: &mut State, slot: u8) {
    state.processors[slot as usize] = None;
    let gone = Owner::Attempt(slot);
    if let Some((owner, _)) = &mut state.control.owner
        && *owner == gone
    {
        *owner = Owner::Gone;
    }
    if let Some((_, token)) = &mut state.sweeping
        && *token == gone
    {
        *token = Owner::Gone;
    }
    for task in &mut state.tasks {
        if let Status::Taken { token, .. } = &mut task.status
            && *token == gone
        {
            *token = Owner::Gone;
        }
    }
}

/// Returns the first step of a pass over the index.
pub fn pass(protocol: &Protocol, lingered: bool) -> Step {
    Step::Look {
        below: protocol.tasks,
        lingered,
    }
}
