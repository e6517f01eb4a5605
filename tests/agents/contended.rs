//! Simulates DynamoDB's transaction conflicts on any store, in an order determined by a seed, and
//! checks every commit against the guarantees.
//!
//! A transaction holds its items ([`simulator::conflicts`]) from before its conditions are checked
//! until after its commit. Before and after each read and each commit, a few milliseconds pass on
//! tokio's clock.

mod state;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::call::Assignment;
use agent_queue::store::{AgentStore, Committed, Order, StoreError};
use agent_queue::transaction::{Change, Step};
use async_trait::async_trait;
use fastrand::Rng;
use simulator::conflicts::{Access, Held};
use simulator::sync::lock;

use self::state::State;
use crate::rows;
use crate::tally;
use crate::watched::{Outcome, Read, Watch};

/// Simulates conflicts and checks the commits.
pub struct Contended {
    state: Mutex<State>,
    held: Arc<Held>,
    rng: Mutex<Rng>,
    order: Order,
    /// Whether half of the conflicts also reject the earlier transaction.
    both_rejected: bool,
    /// Number of agents that a call may pass over, not counting agents in another transaction.
    passes: usize,
}

/// Counts and violations of a run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub commits: u64,
    /// Number of changes rejected because of a conflict.
    pub conflicts: u64,
    pub assignments: Vec<Assignment>,
    pub violations: Vec<String>,
}

impl Contended {
    /// Creates a watch that draws its random decisions from this seed. With `both_rejected`, half
    /// of the conflicts reject both transactions. A call may pass over `passes` agents, not
    /// counting those in another transaction.
    pub fn new(seed: u64, order: Order, both_rejected: bool, passes: usize) -> Self {
        Self {
            state: Mutex::default(),
            held: Arc::default(),
            rng: Mutex::new(Rng::with_seed(seed)),
            order,
            both_rejected,
            passes,
        }
    }

    pub fn seen(&self) -> Seen {
        lock(&self.state).seen.clone()
    }

    /// Checks the invariants that hold at all times.
    async fn check(&self, store: &dyn AgentStore) -> Result<(), StoreError> {
        let calls: Vec<_> = lock(&self.state).states.keys().cloned().collect();
        let rows = rows::stored(store, &calls).await?;
        if let Err(violation) = tally::check(&rows) {
            lock(&self.state).seen.violations.push(violation);
        }
        Ok(())
    }

    /// Pauses for a random time so that other tasks run.
    async fn wait(&self) {
        let pause = {
            let mut rng = lock(&self.rng);
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
            let mut state = lock(&self.state);
            let commits = state.seen.commits;
            state.looks.insert((task, place), commits);
        }
        self.wait().await;
    }

    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let conflict = || {
            lock(&self.state).seen.conflicts += 1;
            Ok(Committed::Conflict)
        };
        let keys = change.steps.iter().map(Step::key).collect();
        let both_rejected = || self.both_rejected && lock(&self.rng).bool();
        let Ok(held) = self.held.take(Access::Transaction, keys, both_rejected) else {
            return conflict();
        };
        self.wait().await;
        if held.doomed().is_some() {
            return conflict();
        }
        let committed = store.commit(change).await;
        if let Ok(Committed::Done) = &committed {
            lock(&self.state).happened(change, self);
            // Check the invariants after about one in eight changes.
            let look = lock(&self.rng).u8(0..8) == 0;
            if look {
                self.check(store).await?;
            }
        }
        self.wait().await;
        committed
    }
}
