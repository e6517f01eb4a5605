//! Simulates transaction conflicts on a store of any kind, as DynamoDB handles them. A seed draws
//! the order. Checks every commit against the guarantees.
//!
//! A transaction is in progress from before its conditions are checked until after it is committed.
//! A second transaction on any of its items is rejected meanwhile
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>).
//! Each read and each commit takes a few milliseconds of tokio's clock before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_queue::agent::AgentStatus;
use agent_queue::call::{Assignment, CallState};
use agent_queue::criteria::{Criteria, QueueName};
use agent_queue::name::CallId;
use agent_queue::store::{AgentStore, Committed, Order, StoreError};
use agent_queue::time::Micros;
use agent_queue::transaction::{Before, Change, Key, QueueEntry, Step, agent_key};
use async_trait::async_trait;
use fastrand::Rng;
use tokio::task::Id;

use crate::rows;
use crate::tally;
use crate::watched::{Read, Watch};

/// Simulates the conflicts, and checks the commits.
pub struct Contended {
    state: Mutex<State>,
    order: Order,
    /// Whether a conflict also rejects the earlier transaction, in half of the cases.
    both_refused: bool,
    /// How many agents a call may pass over, not counting agents in another transaction.
    passes: usize,
}

struct State {
    rng: Rng,
    under_way: BTreeSet<Key>,
    /// Items whose transaction in progress is to be rejected.
    doomed: BTreeSet<Key>,
    /// Number of committed changes.
    commits: u64,
    conflicts: u64,
    /// The entries of the queues, each with the number of commits before it.
    entries: BTreeMap<Key, (QueueEntry, u64)>,
    /// The criteria of the pending calls, each with the number of commits before it.
    waiting: BTreeMap<Key, (Criteria, u64)>,
    /// For each tokio task and each queue or line: the number of commits before its last read.
    looks: BTreeMap<(Id, String), u64>,
    /// Every assignment, in the order of the commits.
    assignments: Vec<Assignment>,
    /// The state of each call that was written.
    answered: BTreeMap<CallId, &'static str>,
    tickets: BTreeSet<String>,
    violations: Vec<String>,
}

/// Counts and findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Number of committed changes.
    pub commits: u64,
    /// Number of changes that were rejected because of a conflict.
    pub conflicts: u64,
    /// Every assignment, in the order of the commits.
    pub assignments: Vec<Assignment>,
    /// Violated guarantees.
    pub violations: Vec<String>,
}

impl Contended {
    /// A watch that draws from this seed.
    #[must_use]
    pub fn new(seed: u64, order: Order) -> Self {
        Self {
            state: Mutex::new(State {
                rng: Rng::with_seed(seed),
                under_way: BTreeSet::new(),
                doomed: BTreeSet::new(),
                commits: 0,
                conflicts: 0,
                entries: BTreeMap::new(),
                waiting: BTreeMap::new(),
                looks: BTreeMap::new(),
                assignments: vec![],
                answered: BTreeMap::new(),
                tickets: BTreeSet::new(),
                violations: vec![],
            }),
            order,
            both_refused: false,
            passes: 0,
        }
    }

    /// The same, but half of the conflicts reject both transactions.
    #[must_use]
    pub fn refusing_both(mut self) -> Self {
        self.both_refused = true;
        self
    }

    /// The same, but a call may pass over this number of agents. Agents in another transaction do
    /// not count.
    #[must_use]
    pub fn passing(mut self, agents: usize) -> Self {
        self.passes = agents;
        self
    }

    /// The counts and findings so far.
    #[must_use]
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
        let calls: Vec<_> = self.lock().answered.keys().cloned().collect();
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
            Read::WaitingCalls(criteria, _) => criteria.to_string(),
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
                if self.both_refused && state.rng.bool() {
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

impl State {
    /// Records a committed change. Returns whether to check the whole table: for one change in
    /// eight.
    fn happened(&mut self, change: &Change, order: Order, passes: usize) -> bool {
        let mut found = vec![];
        for step in &change.steps {
            match step {
                Step::Call(before, record) => {
                    found.extend(self.answer(*before, &record.call.id, &record.state));
                    if let CallState::Assigned(made) = &record.state {
                        found.extend(self.assigned(made, *before, change, order, passes));
                        self.assignments.push(made.clone());
                    }
                }
                // A ticket is used for one assignment only.
                Step::Agent(arrow)
                    if arrow.to.status() == AgentStatus::AttendingCall
                        && !self
                            .tickets
                            .insert(arrow.fresh_ticket.unwrap_or(arrow.ticket).to_string()) =>
                {
                    found.push(format!("{} was given twice", arrow.agent));
                }
                _ => {}
            }
        }
        for step in &change.steps {
            self.follow(step);
        }
        self.commits += 1;
        self.violations.extend(found);
        self.rng.u8(0..8) == 0
    }

    fn follow(&mut self, step: &Step) {
        let since = self.commits;
        match step {
            Step::Join(entry) => {
                let there = self.entries.insert(step.key(), (entry.clone(), since));
                if there.is_some() {
                    self.violations.push(format!("{entry:?} overwrote another"));
                }
            }
            Step::Leave(_) => {
                self.entries.remove(&step.key());
            }
            Step::Wait(call) => {
                self.waiting
                    .insert(step.key(), (call.criteria.clone(), since));
            }
            Step::Unwait(_) => {
                self.waiting.remove(&step.key());
            }
            _ => {}
        }
    }

    /// A call changes its state only from the state that the change expects.
    fn answer(&mut self, before: Before, call: &CallId, state: &CallState) -> Option<String> {
        let was = self.answered.insert(call.clone(), state.as_str());
        let right = match before {
            Before::New => was.is_none(),
            Before::Waiting => was == Some("waiting"),
            Before::Assigned(_) => was == Some("assigned"),
        };
        (!right).then(|| format!("{call} was {was:?} and became {}", state.as_str()))
    }

    /// Finds agents and pending calls that the assignment passes over. No agent in the matcher's
    /// page may precede the assigned agent, and no pending call may precede the call.
    fn assigned(
        &self,
        made: &Assignment,
        before: Before,
        change: &Change,
        order: Order,
        passes: usize,
    ) -> Vec<String> {
        let (mut found, mut passed) = (vec![], BTreeSet::new());
        let mut own = change.steps.iter().filter_map(|step| match step {
            Step::Leave(entry) => Some(entry.at),
            // An available agent comes after every queued agent.
            Step::Agent(arrow) if arrow.from == AgentStatus::Available => Some(Micros(u64::MAX)),
            _ => None,
        });
        let Some(place) = own.next().map(|at| (at, &made.agent_id)) else {
            return vec![format!("{made:?} leaves no queue")];
        };
        for (entry, since) in self.entries.values() {
            let other = (entry.at, &entry.agent);
            let first = match order {
                Order::Fifo => other < place,
                Order::Lifo => other > place,
            };
            // Another transaction may be assigning that agent at the same time.
            let busy = passes > 0 && self.under_way.contains(&agent_key(&entry.agent));
            let fits = made.criteria.fits(&entry.queue);
            if first && !busy && fits && self.was_seen(&entry.queue, *since) {
                passed.insert(&entry.agent);
            }
        }
        if passed.len() > passes {
            found.push(format!("{made:?} passes {passed:?} over"));
        }
        let mut same = self.waiting.iter();
        let own = change.steps.iter().find_map(|step| match step {
            Step::Unwait(_) => Some(step.key()),
            _ => None,
        });
        let overtaken = same.find(|(key, (criteria, since))| {
            *criteria == made.criteria
                && match (before, &own) {
                    (Before::Waiting, Some(own)) => {
                        *key < own && self.look(&criteria.to_string()) >= Some(since + 1)
                    }
                    _ => true,
                }
        });
        if let Some((key, _)) = overtaken {
            found.push(format!("{made:?} overtakes {key:?}"));
        }
        found
    }

    /// Whether the current task's last read of a queue was after that commit.
    fn was_seen(&self, queue: &QueueName, since: u64) -> bool {
        self.look(queue.as_str()).is_some_and(|look| look > since)
    }

    fn look(&self, place: &str) -> Option<u64> {
        let task = tokio::task::try_id()?;
        self.looks.get(&(task, place.to_owned())).copied()
    }
}
