//! The agents' queue under faults. Agents join and leave, calls are delivered at least once,
//! functions crash while they run, and the network has faults. Then the faults stop, and every call
//! must end.

mod actors;
mod publisher;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::agents::{rows, tally};
use agent_queue::call::{Assignment, CallState};
use agent_queue::name::CallId;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{AgentStore, Order};
use agent_queue::time::{Micros, TokioClock};
use fastrand::Rng;
use simulator::agents::embedded::Embedded;
use simulator::agents::network::Network;
use simulator::agents::wire_store::WireStore;
use simulator::fault::Fault;

use self::publisher::World;
use crate::suite::Store;

#[derive(Debug, Default)]
pub struct Played {
    pub violations: Vec<String>,
    /// Every request to the store and its result.
    pub trace: Vec<String>,
    pub census: Census,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub schedules: u64,
    pub calls: BTreeMap<&'static str, u64>,
    pub exchanges: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub crashes: u64,
}

impl Census {
    pub fn add(&mut self, other: &Self) {
        self.schedules += other.schedules;
        self.exchanges += other.exchanges;
        self.crashes += other.crashes;
        for (state, count) in &other.calls {
            *self.calls.entry(state).or_default() += count;
        }
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
    }
}

/// Time at which every schedule starts.
pub const NOW: Micros = Micros(1_800_000_000_000_000);

/// Time after which a pending call expires.
pub const MAX_WAIT: Duration = Duration::from_secs(120);

pub const CALL_LEASE: Duration = Duration::from_secs(60);

/// Time within which an agent must answer, in schedules that require answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

const FAULTS_FOR: Duration = Duration::from_secs(180);

pub(crate) struct Stage {
    pub(crate) rng: Mutex<Rng>,
    pub(crate) world: Arc<World>,
    pub(crate) calls: Mutex<Vec<CallId>>,
    pub(crate) crashes: Mutex<u64>,
    network: Arc<Network>,
    truth: Truth,
    order: Order,
    answers: bool,
}

enum Truth {
    Memory(Arc<MemoryStore>),
    Embedded(Embedded),
}

impl Stage {
    /// Returns the queue as seen by one process, whose clock is up to two seconds ahead.
    pub(crate) fn queue(&self) -> Arc<AgentQueue> {
        let skew = Duration::from_micros(self.random(0..2_000_000));
        let store: Arc<dyn AgentStore> = match &self.truth {
            Truth::Memory(truth) => Arc::new(WireStore::new(self.network.clone(), truth.clone())),
            Truth::Embedded(database) => Arc::new(database.store(&self.network)),
        };
        let settings = Settings {
            order: self.order,
            max_wait: MAX_WAIT,
            call_lease: Some(CALL_LEASE),
            answer_within: self.answers.then_some(ANSWER_WITHIN),
            ..Settings::default()
        };
        let clock = TokioClock::starting_at(self.now().plus(skew));
        Arc::new(AgentQueue::new(store, Arc::new(clock), settings))
    }

    pub(crate) fn random(&self, range: std::ops::Range<u64>) -> u64 {
        let mut rng = self.rng.lock().unwrap_or_else(|e| e.into_inner());
        rng.u64(range)
    }

    /// Returns the virtual time, without clock errors.
    pub(crate) fn now(&self) -> Micros {
        NOW.plus(self.world.started.elapsed())
    }

    fn store(&self) -> Arc<dyn AgentStore> {
        match &self.truth {
            Truth::Memory(truth) => truth.clone(),
            Truth::Embedded(database) => Arc::new(database.store(&Network::direct())),
        }
    }
}

/// Runs one seed.
pub fn play(seed: u64, store: Store) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    // The queue draws its jitter from this generator.
    fastrand::seed(seed);
    runtime.block_on(async {
        let mut rng = Rng::with_seed(seed);
        let rate = [0, 20, 60, 150][rng.usize(0..4)];
        let stage = Arc::new(Stage {
            world: Arc::new(World::new(rng.fork())),
            calls: Mutex::default(),
            crashes: Mutex::default(),
            network: Network::new(rng.u64(..), rate),
            truth: match store {
                Store::Memory => Truth::Memory(Arc::default()),
                Store::Embedded => {
                    Truth::Embedded(Embedded::start().expect("an embedded DynamoDB"))
                }
            },
            order: [Order::Fifo, Order::Lifo][rng.usize(0..2)],
            answers: rng.bool(),
            rng: Mutex::new(rng),
        });
        let mut wrong = actors::perform(&stage, FAULTS_FOR).await;
        stage.network.heal();
        stage.world.heal();
        actors::settle(&stage).await;
        wrong.extend(ended(&stage).await);
        let (faults, exchanges) = stage.network.figures();
        let mut census = Census {
            schedules: 1,
            exchanges,
            faults,
            crashes: *stage.crashes.lock().expect("not poisoned"),
            calls: BTreeMap::new(),
        };
        for (_, state) in outcomes(&stage).await {
            *census.calls.entry(state.as_str()).or_default() += 1;
        }
        Played {
            violations: wrong,
            trace: stage.network.trace(),
            census,
        }
    })
}

pub(crate) async fn outcomes(stage: &Stage) -> BTreeMap<CallId, CallState> {
    let store = stage.store();
    let calls = stage.calls.lock().expect("not poisoned").clone();
    let mut outcomes = BTreeMap::new();
    for id in calls {
        if let Some(record) = store.call(&id).await.expect("read") {
            outcomes.insert(id, record.state);
        }
    }
    outcomes
}

/// Returns a violation of the rules that must hold at all times, if any.
pub(crate) async fn audit(stage: &Stage) -> Vec<String> {
    // On the embedded DynamoDB, other processes run between reads.
    let _still = stage.network.hold().await;
    let calls = stage.calls.lock().expect("not poisoned").clone();
    let rows = rows::stored(&*stage.store(), &calls).await.expect("read");
    tally::check(&rows).err().into_iter().collect()
}

/// Returns all violations at the end: every call must have ended and been published, and the outbox
/// must be empty.
async fn ended(stage: &Stage) -> Vec<String> {
    let mut wrong = audit(stage).await;
    let outcomes = outcomes(stage).await;
    for id in stage.calls.lock().expect("not poisoned").iter() {
        match outcomes.get(id) {
            None => wrong.push(format!("{id}: lost")),
            Some(CallState::Pending) => wrong.push(format!("{id}: still pending")),
            Some(CallState::Cancelled) => {}
            Some(CallState::Assigned(assignment)) => {
                let published = stage.world.published(id);
                if published.is_empty() {
                    wrong.push(format!("{id}: assigned, but not published"));
                }
                if !published.is_empty() && !published.contains(assignment) {
                    wrong.push(format!(
                        "{id}: published {published:?}, but not {assignment:?}"
                    ));
                }
                let outdated = |other: &Assignment| other.number < assignment.number;
                if published
                    .iter()
                    .any(|other| other != assignment && !outdated(other))
                {
                    wrong.push(format!("{id}: {assignment:?}, but published {published:?}"));
                }
            }
            Some(CallState::Expired) if stage.world.buried(id) == 0 => {
                wrong.push(format!(
                    "{id}: expired, and is not in the dead-letter queue"
                ));
            }
            Some(CallState::Expired) => {}
            Some(CallState::Unreadable) => wrong.push(format!("{id}: unreadable")),
        }
    }
    let left = stage
        .store()
        .outbox_entries(None, Micros(u64::MAX / 2), 1_000)
        .await;
    let left = left.expect("read");
    if !left.is_empty() {
        wrong.push(format!("left in the outbox: {left:?}"));
    }
    wrong
}
