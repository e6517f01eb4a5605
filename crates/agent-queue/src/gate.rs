//! Limits how many calls of a process can claim agents concurrently.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Number of consecutive lost agents after which calls claim agents one by one. With 2 or 4, the
/// match rate falls between 8 and 64 processes if DynamoDB rejects both transactions of a conflict.
const MOST_LOSSES: u32 = 3;

/// Lets all calls claim agents until the process has lost [`MOST_LOSSES`] consecutive agents. Then
/// the limit is one call, and each match raises it by one. The limit leaves agents for competing
/// processes.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    inside: usize,
    most: usize,
    losses: u32,
}

/// One call's right to claim agents. When it ends, the gate admits another call.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    gate: &'a Gate,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                inside: 0,
                most: usize::MAX,
                losses: 0,
            }),
            freed: Notify::new(),
        }
    }
}

impl Gate {
    pub(crate) async fn enter(&self) -> Place<'_> {
        loop {
            if let Some(place) = self.try_enter() {
                return place;
            }
            // If a place ends before this call waits, `Notify` stores a permit for the call.
            self.freed.notified().await;
        }
    }

    fn try_enter(&self) -> Option<Place<'_>> {
        let mut state = self.lock();
        (state.inside < state.most).then(|| {
            state.inside += 1;
            Place { gate: self }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Ends the place of a call that is assigned or does not need an agent.
    pub(crate) fn settled(self) {
        let mut state = self.gate.lock();
        state.most = state.most.saturating_add(1);
        state.losses = 0;
    }

    /// Ends the place of a call that lost its agent to another transaction or found none to claim.
    pub(crate) fn lost(self) {
        let mut state = self.gate.lock();
        state.losses = state.losses.saturating_add(1);
        if state.losses >= MOST_LOSSES {
            state.most = 1;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.inside = state.inside.saturating_sub(1);
        // A match frees its own place and raises the limit by one, so up to two calls can enter.
        let free = state.most.saturating_sub(state.inside).min(2);
        drop(state);
        for _ in 0..free {
            self.gate.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn lose(gate: &Gate, times: u32) {
        for _ in 0..times {
            gate.try_enter().expect("a place").lost();
        }
    }

    #[test]
    fn gate_admits_one_call_after_three_losses_and_one_more_per_match() {
        let gate = Gate::default();
        let held: Vec<_> = (0..20)
            .map(|_| gate.try_enter().expect("no limit"))
            .collect();
        lose(&gate, 2);
        gate.try_enter().expect("two losses set no limit").settled();
        lose(&gate, 2);
        assert!(gate.try_enter().is_some(), "a match was between the losses");
        lose(&gate, 1);
        drop(held);
        let place = gate.try_enter().expect("the only place");
        assert!(gate.try_enter().is_none(), "three losses in a row");
        place.settled();
        let (first, second) = (gate.try_enter(), gate.try_enter());
        assert!(first.is_some() && second.is_some() && gate.try_enter().is_none());
    }

    #[tokio::test]
    async fn gate_admits_the_next_call_however_a_place_ends() {
        let gate = Gate::default();
        lose(&gate, MOST_LOSSES);
        for end in ["lost", "dropped", "settled"] {
            let place = gate.enter().await;
            let mut next = Box::pin(gate.enter());
            assert!(next.as_mut().now_or_never().is_none());
            match end {
                "lost" => place.lost(),
                "settled" => place.settled(),
                _ => drop(place),
            }
            assert!(next.now_or_never().is_some(), "{end}");
        }
    }

    #[tokio::test]
    async fn cancelled_call_passes_its_turn_to_the_next_call() {
        let gate = Gate::default();
        lose(&gate, MOST_LOSSES);
        let place = gate.enter().await;
        let mut cancelled = Box::pin(gate.enter());
        let mut next = Box::pin(gate.enter());
        assert!(cancelled.as_mut().now_or_never().is_none());
        assert!(next.as_mut().now_or_never().is_none());
        drop(place);
        drop(cancelled);
        assert!(next.now_or_never().is_some());
    }
}
