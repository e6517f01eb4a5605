//! One exchange with the database, and what may befall it.
//!
//! A request that was sent is carried out whether or not its sender still lives. Two
//! transactions that are under way at once and share an item conflict: the later one is rejected,
//! as DynamoDB does
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_queue::transaction::Key;
use fastrand::Rng;
use tokio::sync::{RwLock, RwLockWriteGuard};

/// What befalls an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Rejected for want of throughput, before anything happened.
    Throttled,
    /// An error reply of the service, before anything happened.
    Unavailable,
    /// Nothing happened, and no answer comes.
    LostRequest,
    /// It happened, and no answer comes.
    LostAnswer,
    /// No answer comes, and it happens later.
    LateRequest,
    /// Rejected because another transaction was changing one of the items.
    Conflict,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::Throttled,
        Self::Unavailable,
        Self::LostRequest,
        Self::LostAnswer,
        Self::LateRequest,
        Self::Conflict,
    ];

    /// The faults that are drawn; conflicts come of themselves.
    const DRAWN: [Self; 5] = [
        Self::Throttled,
        Self::Unavailable,
        Self::LostRequest,
        Self::LostAnswer,
        Self::LateRequest,
    ];
}

/// How long a client waits for an answer.
const SILENCE: Duration = Duration::from_secs(2);

/// The network between the functions and the table.
pub struct Network {
    state: Mutex<State>,
    /// An audit holds it, so that nothing changes between its reads.
    still: RwLock<()>,
}

struct State {
    rng: Rng,
    /// Nothing takes time, and nothing befalls anybody.
    direct: bool,
    /// How many of a thousand exchanges something befalls.
    rate: u32,
    under_way: BTreeSet<Key>,
    faults: BTreeMap<Fault, u64>,
    exchanges: u64,
    trace: Vec<String>,
}

impl Network {
    /// A network whose every chance follows from `seed`; faults hit this number of
    /// exchanges in a thousand.
    #[must_use]
    pub fn new(seed: u64, rate: u32) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                rng: Rng::with_seed(seed),
                direct: false,
                rate,
                under_way: BTreeSet::new(),
                faults: BTreeMap::new(),
                exchanges: 0,
                trace: vec![],
            }),
            still: RwLock::default(),
        })
    }

    /// No network at all: every exchange happens at once.
    #[must_use]
    pub fn direct() -> Arc<Self> {
        let network = Self::new(0, 0);
        network.lock().direct = true;
        network
    }

    /// From now on nothing befalls anybody, but conflicts.
    pub fn heal(&self) {
        self.lock().rate = 0;
    }

    /// Until this is dropped, requests reach the database, but it carries none out.
    pub async fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.still.write().await
    }

    /// What befell how many exchanges, and how many there were.
    #[must_use]
    pub fn figures(&self) -> (BTreeMap<Fault, u64>, u64) {
        let state = self.lock();
        (state.faults.clone(), state.exchanges)
    }

    /// Every exchange, in order: the same for the same seed.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.lock().trace.clone()
    }

    /// Sends a request that changes these items, or none, and waits for its answer.
    ///
    /// # Errors
    /// The [`Fault`] that befell it; whether it happened is known to the network alone.
    pub async fn exchange<T: Send + 'static>(
        self: &Arc<Self>,
        what: String,
        items: Vec<Key>,
        apply: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        if self.lock().direct {
            return Ok(apply());
        }
        let (fault, pauses) = self.draw(&what, !items.is_empty());
        tokio::time::sleep(pauses[0]).await;
        match fault {
            Some(Fault::LostRequest) => {
                tokio::time::sleep(SILENCE).await;
                return Err(Fault::LostRequest);
            }
            Some(fault @ (Fault::Throttled | Fault::Unavailable)) => return Err(fault),
            _ => {}
        }
        let late = fault == Some(Fault::LateRequest);
        let network = self.clone();
        // Of its own: it goes on when its sender dies.
        let served = tokio::spawn(async move {
            if late {
                tokio::time::sleep(pauses[3]).await;
            }
            network.serve(what, items, pauses[1], apply).await
        });
        if matches!(fault, Some(Fault::LateRequest | Fault::LostAnswer)) {
            tokio::time::sleep(SILENCE).await;
            return Err(fault.unwrap_or(Fault::LostAnswer));
        }
        let answer = served.await.map_err(|_| Fault::LostAnswer)?;
        tokio::time::sleep(pauses[2]).await;
        answer
    }

    /// What is to befall an exchange, and how long its parts take: the way there, the work, the
    /// way back, and how late a late one is.
    fn draw(&self, what: &str, writes: bool) -> (Option<Fault>, [Duration; 4]) {
        let mut state = self.lock();
        state.exchanges += 1;
        let befalls = state.rng.u32(0..1_000) < state.rate;
        let drawn = Fault::DRAWN[state.rng.usize(0..Fault::DRAWN.len())];
        let mut pause = |range| Duration::from_micros(state.rng.u64(range));
        let pauses = [
            pause(100..4_000),
            pause(1_000..8_000),
            pause(100..4_000),
            pause(0..20_000_000),
        ];
        // A late read has no effect.
        let fault = Some(drawn).filter(|fault| befalls && (writes || *fault != Fault::LateRequest));
        if let Some(fault) = fault {
            *state.faults.entry(fault).or_default() += 1;
        }
        state.trace.push(format!("{what}: {fault:?}"));
        (fault, pauses)
    }

    async fn serve<T>(
        &self,
        what: String,
        items: Vec<Key>,
        work: Duration,
        apply: impl FnOnce() -> T,
    ) -> Result<T, Fault> {
        {
            let mut state = self.lock();
            if items.iter().any(|item| state.under_way.contains(item)) {
                *state.faults.entry(Fault::Conflict).or_default() += 1;
                state.trace.push(format!("{what}: conflict"));
                return Err(Fault::Conflict);
            }
            state.under_way.extend(items.iter().cloned());
        }
        if !items.is_empty() {
            tokio::time::sleep(work).await;
        }
        let answer = {
            let _may_change = self.still.read().await;
            apply()
        };
        let mut state = self.lock();
        for item in &items {
            state.under_way.remove(item);
        }
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
