//! Limits the number of calls of a lane that claim agents concurrently.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Lets all calls of a lane claim agents until one loses an agent. The limit is then one call, and
/// one more with each match. So a lane leaves agents to the lanes that it competes with.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    inside: usize,
    most: usize,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The call is assigned, or needs no agent.
    Settled,
    /// Another transaction had the agent, or the call found none to claim.
    Lost,
}

impl Gate {
    /// A gate whose first limit is this number of calls, at least one.
    pub(super) fn new(calls: usize) -> Self {
        let state = State {
            inside: 0,
            most: calls.max(1),
        };
        Self {
            state: Mutex::new(state),
            freed: Notify::new(),
        }
    }

    /// Waits until the call may claim an agent. The caller then calls [`leave`](Self::leave) once.
    pub(super) async fn enter(&self) {
        while !self.try_enter() {
            // A `leave` that frees a place stores a permit for a call that is not waiting yet.
            self.freed.notified().await;
        }
    }

    fn try_enter(&self) -> bool {
        let mut state = self.lock();
        let open = state.inside < state.most;
        state.inside += usize::from(open);
        open
    }

    /// Ends a claim, and sets the new limit.
    pub(super) fn leave(&self, claimed: Claimed) {
        let mut state = self.lock();
        state.inside = state.inside.saturating_sub(1);
        state.most = match claimed {
            Claimed::Settled => state.most + 1,
            Claimed::Lost => 1,
        };
        let free = state.most.saturating_sub(state.inside).min(2);
        drop(state);
        for _ in 0..free {
            self.freed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn gate_admits_one_call_after_a_loss_and_one_more_per_match() {
        let gate = Gate::new(3);
        for _ in 0..3 {
            assert!(gate.try_enter());
        }
        assert!(!gate.try_enter(), "no more than the calls");
        gate.leave(Claimed::Lost);
        assert!(!gate.try_enter(), "two are inside, and one may be");
        gate.leave(Claimed::Lost);
        gate.leave(Claimed::Lost);
        assert!(gate.try_enter());
        assert!(!gate.try_enter());
        gate.leave(Claimed::Settled);
        assert!(gate.try_enter() && gate.try_enter() && !gate.try_enter());
    }

    #[tokio::test]
    async fn gate_admits_the_next_call_when_another_leaves() {
        let gate = Gate::new(1);
        gate.enter().await;
        let mut second = Box::pin(gate.enter());
        assert_eq!(second.as_mut().now_or_never(), None);
        gate.leave(Claimed::Lost);
        assert_eq!(second.now_or_never(), Some(()));
    }
}
