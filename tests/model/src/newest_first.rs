//! Implements rules 4, 5 and 7: query, take, run and settle. After an empty pass, a processor waits
//! for the index and queries again.

use crate::lease::{is_owner, stop_without_lease};
use crate::mutation::Mutation;
use crate::processor::{Next, pass};
use crate::protocol::Protocol;
use crate::state::{Owner, Processor, State, Status, Step, TaskNumber};

/// Rule 4: queries for the newest task that this pass has not tried.
pub(crate) fn look(
    protocol: &Protocol,
    state: &State,
    processor: &mut Processor,
    below: TaskNumber,
    lingered: bool,
) -> Next {
    if let Some(lost) = processor.lost_lease {
        return stop_without_lease(protocol, processor, lost);
    }
    if protocol.mutated(Mutation::SeenRenewedByQuery) {
        processor.requested_moved = false;
    }
    let first_page = below == protocol.tasks;
    let ends_early = protocol.mutated(Mutation::OnePageCountsAsEmpty) && !first_page;
    let newest = (0..below)
        .rev()
        .find(|&task| state.tasks[task as usize].shown);
    Next::Go(match newest {
        Some(task) if !ends_early => Step::Take { task, lingered },
        _ if lingered || protocol.mutated(Mutation::NoLinger) => Step::Release,
        _ => Step::Linger {
            awaits: state.lagging(),
        },
    })
}

/// Rule 4: takes the task if it is PENDING, or TAKEN with the token of this call. Otherwise the
/// pass continues with the next task.
pub(crate) fn take(
    protocol: &Protocol,
    state: &mut State,
    slot: u8,
    task: TaskNumber,
    lingered: bool,
) -> Next {
    let mine = Owner::Attempt(slot);
    match state.tasks[task as usize].status {
        Status::Taken { token, live } if token == mine => {
            if protocol.mutated(Mutation::OwnTakeNotRecognised) {
                return Next::Go(Step::Look {
                    below: task,
                    lingered,
                });
            }
            Next::Go(Step::Run { task, live })
        }
        status @ (Status::Pending
        | Status::Taken {
            token: Owner::Attempt(_),
            ..
        }) if status == Status::Pending || protocol.mutated(Mutation::TakeWithoutStatus) => {
            state.history.trespass |= status != Status::Pending;
            state.write(
                task,
                Status::Taken {
                    token: mine,
                    live: true,
                },
            );
            Next::Go(Step::Run { task, live: true })
        }
        _ => Next::Go(Step::Look {
            below: task,
            lingered,
        }),
    }
}

/// S1: settles or returns the task if it has this attempt's token. A rejection is a result, not an
/// error.
pub(crate) fn settle(
    protocol: &Protocol,
    state: &mut State,
    slot: u8,
    processor: &mut Processor,
    task: TaskNumber,
    status: Status,
) -> Next {
    let current = state.tasks[task as usize].status;
    let mine = matches!(current, Status::Taken { token, .. } if token == Owner::Attempt(slot));
    if mine || protocol.mutated(Mutation::SettleWithoutToken) {
        state.history.trespass |= !mine && current != status;
        processor.settled |= status != Status::Pending;
        if protocol.mutated(Mutation::SettleOverNewerState) {
            let overtaken = std::mem::take(&mut state.tasks[task as usize].overtaken);
            state.history.lost_state |= overtaken && status == Status::Done;
        }
        // A settled task becomes PENDING if a newer state was written during its run.
        let left = state.end_run(task, status);
        let returns = left == Status::Pending;
        let quiet = protocol.mutated(Mutation::OvertakenEndUnannounced) && left != status;
        processor.returned |= returns && !quiet;
        processor.returned_late |= returns && !is_owner(state, processor);
    }
    Next::Go(pass(protocol, false))
}

pub(crate) fn linger(protocol: &Protocol, processor: &Processor) -> Next {
    if let Some(lost) = processor.lost_lease {
        return stop_without_lease(protocol, processor, lost);
    }
    Next::Go(pass(protocol, true))
}
