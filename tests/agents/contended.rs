//! Simulates transaction conflicts on a store of any kind, as DynamoDB handles them. A seed draws
//! the order. Checks every commit against the guarantees.
//!
//! A transaction is in progress from before its conditions are checked until after it is committed.
//! A second transaction on any of its items is rejected meanwhile
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>).
//! Each read and each commit takes a few milliseconds of tokio's clock before and after.

mod state;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_queue::call::Assignment;
use agent_queue::store::{AgentStore, Committed, Order, StoreError};
use agent_queue::transaction::{Change, Key, Step};
use async_trait::async_trait;

use self::state::State;
use crate::rows;
use crate::tally;
use crate::watched::{Read, Watch};

/// Simulates the conflicts, and checks the commits.
pub struct Contended {
    state: Mutex<State>,
    order: Order,
    /// Whether a conflict also rejects the earlier transaction, in half of the cases.
    both_rejected: bool,
    /// How many agents a call may pass over, not counting agents in another transaction.
    passes: usize,
}

/// Counts and findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub commits: u64,
    /// Number of changes that were rejected because of a conflict.
    pub conflicts: u64,
    pub assignments: Vec<Assignment>,
    pub violations: Vec<String>,
}

impl Contended {
    /// A watch that draws from this seed.
    pub fn new(seed: u64, order: Order) -> Self {
        Self {
            state: Mutex::new(State::new(seed)),
            order,
            both_rejected: false,
            passes: 0,
        }
    }

    /// The same, but half of the conflicts reject both transactions.
    #[must_use]
    pub fn rejecting_both(mut self) -> Self {
        self.both_rejected = true;
        self
    }

    /// The same, but a call may pass over this number of agents. Agents in another transaction do
    /// not count.
    #[must_use]
    pub fn passing(mut self, agents: usize) -> Self {
        self.passes = agents;
        self
    }

    pub fn seen(&self) -> Seen {
        let state = self.lock();
        Seen {
            commits: state.commits,
            conflicts: state.conflicts,
            assignments: state.assignments.clone(),
            violations: state.violations.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the rules that hold at every time.
    async fn check(&self, store: &dyn AgentStore) -> Result<(), StoreError> {
        let calls: Vec<_> = self.lock().states.keys().cloned().collect();
        let rows = rows::stored(store, &calls).await?;
        if let Err(violation) = tally::check(&rows) {
            self.lock().violations.push(violation);
        }
        Ok(())
    }

    /// Lets other tasks run.
    async fn wait(&self) {
        let pause = {
            let rng = &mut self.lock().rng;
            (rng.u8(0..4) > 0).then(|| Duration::from_micros(rng.u64(1..4_000)))
        };
        match pause {
            Some(pause) => tokio::time::sleep(pause).await,
            None => tokio::task::yield_now().await,
        }
    }
}

#[async_trait]
impl Watch for Contended {
    async fn before(&self, _read: &Read) {
        self.wait().await;
    }

    async fn after(&self, read: &Read) {
        let place = match read {
            Read::Peek(queue, _) => queue.to_string(),
            Read::CallsInLine(criteria, _) => criteria.to_string(),
            Read::Other(_) => String::new(),
        };
        if let Some(task) = tokio::task::try_id() {
            let mut state = self.lock();
            let commits = state.commits;
            state.looks.insert((task, place), commits);
        }
        self.wait().await;
    }

    async fn commit(
        &self,
        store: &dyn AgentStore,
        change: &Change,
    ) -> Result<Committed, StoreError> {
        let keys: BTreeSet<_> = change.steps.iter().map(Step::key).collect();
        {
            let mut state = self.lock();
            if !keys.is_disjoint(&state.under_way) {
                state.conflicts += 1;
                if self.both_rejected && state.rng.bool() {
                    let met: Vec<_> = keys.intersection(&state.under_way).cloned().collect();
                    state.doomed.extend(met);
                }
                return Ok(Committed::Conflict);
            }
            state.under_way.extend(keys.iter().cloned());
        }
        self.wait().await;
        if self.is_doomed(&keys) {
            return Ok(Committed::Conflict);
        }
        let committed = store.commit(change).await;
        if let Ok(Committed::Done) = &committed {
            let look = self.lock().happened(change, self.order, self.passes);
            if look {
                self.check(store).await?;
            }
        }
        self.wait().await;
        let mut state = self.lock();
        state.under_way.retain(|key| !keys.contains(key));
        // A conflict after the commit does not reject this transaction.
        state.doomed.retain(|key| !keys.contains(key));
        committed
    }
}

impl Contended {
    /// Whether a later transaction rejected this one. If so, this one is no longer in progress.
    fn is_doomed(&self, keys: &BTreeSet<Key>) -> bool {
        let mut state = self.lock();
        let doomed = !keys.is_disjoint(&state.doomed);
        if doomed {
            state.conflicts += 1;
            state.under_way.retain(|key| !keys.contains(key));
            state.doomed.retain(|key| !keys.contains(key));
        }
        doomed
    }
}
