//! One exchange with the database, and its faults.
//!
//! A request that was sent is executed even if its sender crashes. Transactions conflict
//! ([`crate::conflicts`]), and the later one is rejected.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::transaction::Key;
use fastrand::Rng;
use tokio::sync::{RwLock, RwLockWriteGuard};

use crate::conflicts::{Access, Held};
use crate::fault::Fault;
use crate::sync::lock;

/// The faults of an exchange. A late request is executed up to 20 seconds late.
pub const FAULTS: [Fault; 6] = [
    Fault::Throttled,
    Fault::Unavailable,
    Fault::LostRequest,
    Fault::LostAck,
    Fault::LateWrite,
    Fault::TransactionConflict,
];

/// The faults that are drawn at random. Conflicts are caused by concurrent transactions.
const DRAWN: &[Fault] = FAULTS.split_at(5).0;

/// Client timeout: maximum time to wait for a response.
const SILENCE: Duration = Duration::from_secs(2);

pub struct Network {
    state: Mutex<State>,
    held: Arc<Held>,
    /// Write-locked by an audit, so that no item changes between the audit's reads.
    still: RwLock<()>,
}

struct State {
    rng: Rng,
    /// Whether exchanges have neither latency nor faults.
    direct: bool,
    /// Number of exchanges per thousand for which a fault is drawn.
    rate: u32,
    faults: BTreeMap<Fault, u64>,
    exchanges: u64,
    trace: Vec<String>,
}

impl Network {
    /// Creates a network whose faults and latencies are derived from `seed`. On average, `rate` of
    /// a thousand exchanges have a drawn fault.
    pub fn new(seed: u64, rate: u32) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                rng: Rng::with_seed(seed),
                direct: false,
                rate,
                faults: BTreeMap::new(),
                exchanges: 0,
                trace: vec![],
            }),
            held: Arc::default(),
            still: RwLock::default(),
        })
    }

    /// Creates a network without latency or faults.
    pub fn direct() -> Arc<Self> {
        let network = Self::new(0, 0);
        lock(&network.state).direct = true;
        network
    }

    /// Stops all drawn faults. Conflicts remain possible.
    pub fn heal(&self) {
        lock(&self.state).rate = 0;
    }

    /// Stops the database until the returned guard is dropped. Requests that reach it wait.
    pub async fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.still.write().await
    }

    /// Returns the number of exchanges per fault and the total number of exchanges.
    pub fn figures(&self) -> (BTreeMap<Fault, u64>, u64) {
        let state = lock(&self.state);
        (state.faults.clone(), state.exchanges)
    }

    /// Returns all exchanges in order. The same seed always gives the same trace.
    pub fn trace(&self) -> Vec<String> {
        lock(&self.state).trace.clone()
    }

    /// Sends a request that changes these items, if any, and waits for its response.
    ///
    /// # Errors
    /// The [`Fault`] of the exchange. The caller does not learn whether the request was executed.
    pub async fn exchange<T: Send + 'static>(
        self: &Arc<Self>,
        what: String,
        items: Vec<Key>,
        apply: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        if lock(&self.state).direct {
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
        let late = fault == Some(Fault::LateWrite);
        let network = self.clone();
        // Use a separate task, because the request is executed even if its sender crashes.
        let served = tokio::spawn(async move {
            if late {
                tokio::time::sleep(pauses[3]).await;
            }
            network.serve(what, items, pauses[1], apply).await
        });
        if matches!(fault, Some(Fault::LateWrite | Fault::LostAck)) {
            tokio::time::sleep(SILENCE).await;
            return Err(fault.unwrap_or(Fault::LostAck));
        }
        let response = served.await.map_err(|_| Fault::LostAck)?;
        tokio::time::sleep(pauses[2]).await;
        response
    }

    /// Draws the fault of an exchange and four durations: request latency, execution, response
    /// latency and the delay of a late request.
    fn draw(&self, what: &str, writes: bool) -> (Option<Fault>, [Duration; 4]) {
        let mut state = lock(&self.state);
        state.exchanges += 1;
        let befalls = state.rng.u32(0..1_000) < state.rate;
        let drawn = DRAWN[state.rng.usize(0..DRAWN.len())];
        let mut pause = |range| Duration::from_micros(state.rng.u64(range));
        let pauses = [
            pause(100..4_000),
            pause(1_000..8_000),
            pause(100..4_000),
            pause(0..20_000_000),
        ];
        // Skip late reads, because they have no effect.
        let fault = Some(drawn).filter(|fault| befalls && (writes || *fault != Fault::LateWrite));
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
        let writes = !items.is_empty();
        let Ok(_held) = self.held.take(Access::Transaction, items, || false) else {
            let mut state = lock(&self.state);
            *state.faults.entry(Fault::TransactionConflict).or_default() += 1;
            state.trace.push(format!("{what}: conflict"));
            return Err(Fault::TransactionConflict);
        };
        if writes {
            tokio::time::sleep(work).await;
        }
        let _may_change = self.still.read().await;
        Ok(apply())
    }
}
