//! Implements rules 2, 3, 5, 6 and 10 for the processor lease, from acquire to release.

use crate::mutation::Mutation;
use crate::processor::{Next, pass};
use crate::protocol::{Protocol, spend};
use crate::state::{LostLease, Processor, State, Step};

/// Rules 2 and 3: acquires the lease if it is free, expired or owned by this attempt. Otherwise,
/// the invocation fails or ends.
pub(crate) fn acquire(protocol: &Protocol, state: &mut State, processor: &mut Processor) -> Next {
    let control = &mut state.control;
    let taken_by_other = control.live
        && control
            .owner
            .is_none_or(|(owner, _)| owner != processor.owner);
    if taken_by_other && !protocol.mutated(Mutation::AcquireOverLiveLease) {
        let mine = control
            .owner
            .is_some_and(|(_, message)| message == processor.message.id);
        let fails = mine && !protocol.mutated(Mutation::BusyWithOwnMessageLeaves);
        return if fails { Next::Fail } else { Next::Leave };
    }
    control.owner = Some((processor.owner, processor.message.id));
    control.live = true;
    control.marker = None;
    processor.holds = true;
    processor.requested_moved = false;
    if protocol.counts {
        state.history.acquired = state.history.acquired.saturating_add(1);
    }
    Next::Go(pass(protocol, false))
}

/// Whether the control item names this attempt as its owner. The lease may have expired.
pub(crate) fn is_owner(state: &State, processor: &Processor) -> bool {
    state
        .control
        .owner
        .is_some_and(|(owner, _)| owner == processor.owner)
}

pub(crate) fn heartbeat_matters(protocol: &Protocol, state: &State, processor: &Processor) -> bool {
    let renews = is_owner(state, processor) && !state.control.live;
    let remembers = protocol.mutated(Mutation::SeenRenewedByHeartbeat) && processor.requested_moved;
    beats(processor) && (renews || remembers || !is_owner(state, processor))
}

/// Whether heartbeats run: from the acquire to the release, or until a lost lease is noticed.
fn beats(processor: &Processor) -> bool {
    let outside = matches!(
        processor.step,
        Step::Acquire | Step::ReleaseForTailCall | Step::TailCall | Step::ReleaseAfterTailCall
    );
    !outside && processor.lost_lease.is_none()
}

/// Whether the processor can determine by its own clock that its lease has expired.
pub(crate) fn may_notice_the_end(processor: &Processor) -> bool {
    beats(processor) && !processor.holds
}

/// Rule 2: no renewal succeeded in time, so the processor takes no more tasks.
pub fn notice_end(state: &mut State, slot: u8) {
    if let Some(processor) = &mut state.processors[slot as usize] {
        processor.lost_lease = Some(LostLease::Expired);
    }
}

/// Rule 2: renews the lease if this processor is the owner, even when it has expired. A processor
/// whose renewal is rejected takes no more tasks.
pub fn heartbeat(protocol: &Protocol, state: &mut State, slot: u8) {
    let Some(mut processor) = state.processors[slot as usize] else {
        return;
    };
    if is_owner(state, &processor) {
        state.control.live = true;
        processor.holds = true;
        if protocol.mutated(Mutation::SeenRenewedByHeartbeat) {
            processor.requested_moved = false;
        }
    } else {
        processor.lost_lease = Some(LostLease::Rejected);
        processor.holds = false;
    }
    state.processors[slot as usize] = Some(processor);
}

/// Rule 5: releases the lease if this processor is the owner and `requested` is `seen`.
pub(crate) fn release(protocol: &Protocol, state: &mut State, processor: &mut Processor) -> Next {
    if !is_owner(state, processor) {
        return stop_without_lease(protocol, processor, LostLease::Rejected);
    }
    if processor.requested_moved && !protocol.mutated(Mutation::ReleaseIgnoresRequested) {
        processor.requested_moved = false;
        return Next::Go(pass(protocol, false));
    }
    free(protocol, state, processor);
    state.control.idle_turns = 0;
    state.history.idle_tail_calls = 0;
    Next::Leave
}

/// Frees the lease and deletes the start marker (rule 9) if this processor is the owner. Returns
/// whether it was the owner.
pub(crate) fn free(protocol: &Protocol, state: &mut State, processor: &mut Processor) -> bool {
    processor.holds = false;
    if !is_owner(state, processor) {
        return false;
    }
    state.control.owner = None;
    state.control.live = false;
    if !protocol.mutated(Mutation::MarkerKeptByRelease) {
        state.control.marker = None;
    }
    true
}

/// Returns the next step of a turn that reaches its time limit before the queue is empty.
fn stop(protocol: &Protocol) -> Step {
    if protocol.mutated(Mutation::TailCallBeforeRelease) {
        Step::TailCall
    } else {
        Step::ReleaseForTailCall
    }
}

/// Ends a turn that lost its lease. If the control item names another owner, that owner queries
/// after every change made under this processor's lease. The new owner may have missed a task that
/// this turn returned later, so the turn then requests a wake-up (rule 1). If the lease only
/// expired, there may be no other processor, so the turn ends by rule 6.
pub(crate) fn stop_without_lease(
    protocol: &Protocol,
    processor: &Processor,
    lost: LostLease,
) -> Next {
    match lost {
        LostLease::Rejected
            if !processor.returned || protocol.mutated(Mutation::LateReturnUnannounced) =>
        {
            Next::Leave
        }
        LostLease::Rejected => Next::Request,
        LostLease::Expired
            if !processor.returned && protocol.mutated(Mutation::LeavesWhenLeaseExpired) =>
        {
            Next::Leave
        }
        LostLease::Expired => Next::Go(Step::ReleaseForTailCall),
    }
}

pub fn time_up(protocol: &Protocol, state: &mut State, slot: u8) {
    let Some(mut processor) = state.processors[slot as usize] else {
        return;
    };
    spend(&mut state.budget.time_ups);
    processor.step = stop(protocol);
    state.processors[slot as usize] = Some(processor);
}

/// Rule 6: releases the lease and continues with the tail call even if the release is rejected.
/// Rule 10: no tail call after too many consecutive turns without a settled task.
pub(crate) fn release_for_tail_call(
    protocol: &Protocol,
    state: &mut State,
    processor: &mut Processor,
) -> Next {
    let released = free(protocol, state, processor);
    if !released && protocol.mutated(Mutation::NoTailCallAfterRejectedRelease) {
        return Next::Leave;
    }
    if let Some(bound) = protocol.idle_bound {
        // A turn that only waited for the rate limit leaves the count unchanged.
        let waited = protocol.rate_limited && !processor.ran;
        let count = |turns: u8| match (processor.settled, waited) {
            (true, _) => 0,
            (false, true) => turns,
            (false, false) => (turns + 1).min(bound),
        };
        if released {
            let forgets = waited && protocol.mutated(Mutation::WaitIsProgress);
            let turns = count(state.control.idle_turns);
            state.control.idle_turns = if forgets { 0 } else { turns };
            if turns >= bound && !protocol.mutated(Mutation::NoIdleBound) && !forgets {
                state.history.lost = true;
                return Next::Leave;
            }
        }
        state.history.idle_tail_calls = count(state.history.idle_tail_calls);
    }
    Next::Go(Step::TailCall)
}

pub(crate) fn tail_call(protocol: &Protocol, state: &mut State) -> Next {
    state.tail_calls += 1;
    if protocol.mutated(Mutation::TailCallBeforeRelease) {
        return Next::Go(Step::ReleaseAfterTailCall);
    }
    Next::Leave
}
