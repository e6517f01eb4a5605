//! How many calls of a lane claim agents at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Lets all calls of a lane through, until one loses an agent. Then one at a time passes, and one
/// more with each match: a lane so leaves agents to the lanes that it competes with.
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
    /// Another transaction had the agent.
    Lost,
}

impl Gate {
    /// A gate that lets this number of calls through.
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

    /// Waits for its turn to claim an agent. Each is followed by [`leave`](Self::leave).
    pub(super) async fn enter(&self) {
        while !self.try_enter() {
            // Each leave keeps a permit for one call that is not yet waiting.
            self.freed.notified().await;
        }
    }

    fn try_enter(&self) -> bool {
        let mut state = self.lock();
        let open = state.inside < state.most;
        state.inside += usize::from(open);
        open
    }

    /// A claim has ended.
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
    fn one_call_at_a_time_passes_after_a_loss_and_one_more_with_each_match() {
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
    async fn a_waiting_call_passes_as_soon_as_another_leaves() {
        let gate = Gate::new(1);
        gate.enter().await;
        let mut second = Box::pin(gate.enter());
        assert_eq!(second.as_mut().now_or_never(), None);
        gate.leave(Claimed::Lost);
        assert_eq!(second.now_or_never(), Some(()));
    }
}
