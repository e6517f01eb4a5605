//! How busy the slots are: the share of their time in which they run tasks, by the number of slots,
//! the length of the runs and the latency of the store.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::process::{Invocation, ProcessSettings, Processor};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::store::{QueueStore, StoreError, TaskStore};
use lifo_queue::task::{NewTask, Task, TaskId};
use lifo_queue::time::TokioClock;
use serde::Serialize;
use simulator::cloud::BEGIN;
use simulator::layered::Layered;
use simulator::layered::tasks::{Layer, TaskCall};
use simulator::sync::lock;
use simulator::topics::Topics;
use tokio::time::Instant;
use uuid::Uuid;

use crate::figures::rounded;
use crate::{parallel, queue};

const SLOTS: [u16; 3] = [1, 10, 50];
const RUNS_MS: [u64; 3] = [20, 100, 400];
const STORE_MS: [u64; 3] = [1, 5, 10];

/// Duration of the turn, and the part of it that is measured.
const TURN: Duration = Duration::from_secs(12);
const MEASURED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(11));

/// Content of `slots.json`.
#[derive(Serialize)]
pub(crate) struct Slots {
    /// Figures by `<slots>-<run ms>-<store ms>`.
    cases: BTreeMap<String, Case>,
}

#[derive(Serialize)]
struct Case {
    /// Share of the slots' time in which they run tasks.
    busy: f64,
    /// Requests to the store per ended task.
    calls_per_task: f64,
    /// Share of the takes whose task was returned before its run.
    unstarted: f64,
}

/// Simulates every case.
pub(crate) fn cases() -> Slots {
    let mut cells = Vec::new();
    for slots in SLOTS {
        for run in RUNS_MS {
            cells.extend(STORE_MS.map(|store| (slots, run, store)));
        }
    }
    let cases = parallel::map(cells, |(slots, run, store)| {
        let name = format!("{slots}-{run}-{store}");
        let case = play(
            slots,
            Duration::from_millis(run),
            Duration::from_millis(store),
        );
        (name, case)
    });
    Slots {
        cases: cases.into_iter().collect(),
    }
}

/// A store whose requests take this long.
struct Slow {
    latency: Duration,
    store: Arc<MemoryStore>,
    calls: Arc<AtomicU64>,
    returns: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Slow {
    async fn around<T: Any + Send>(&self, call: TaskCall<'_, T>) -> Result<T, StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if call.operation == "return_task" {
            self.returns.fetch_add(1, Ordering::Relaxed);
        }
        // Half of an odd number of milliseconds would be rounded up twice.
        let request = Duration::from_millis(self.latency.as_millis() as u64 / 2);
        tokio::time::sleep(request).await;
        let result = call.on(self.store.clone()).await;
        tokio::time::sleep(self.latency - request).await;
        result
    }
}

/// A runner whose runs take between half of a mean duration and three halves of it.
struct Runs {
    mean: Duration,
    random: Mutex<fastrand::Rng>,
    from: Instant,
    /// Time of the runs within the measured part of the turn, in microseconds.
    measured: Arc<AtomicU64>,
}

#[async_trait]
impl TaskRunner for Runs {
    async fn run(&self, _: &Task) -> Outcome {
        let began = self.from.elapsed();
        let factor = 0.5 + lock(&self.random).f64();
        tokio::time::sleep(self.mean.mul_f64(factor)).await;
        let (from, until) = MEASURED;
        let ran = self
            .from
            .elapsed()
            .min(until)
            .saturating_sub(began.max(from));
        let ran = u64::try_from(ran.as_micros()).unwrap_or(u64::MAX);
        self.measured.fetch_add(ran, Ordering::Relaxed);
        Outcome::Success
    }
}

/// Runs a turn on a backlog.
fn play(slots: u16, run: Duration, latency: Duration) -> Case {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(turn(slots, run, latency)),
        Err(error) => panic!("no runtime: {error}"),
    }
}

async fn turn(slots: u16, run: Duration, latency: Duration) -> Case {
    let store = Arc::new(MemoryStore::new());
    let backlog = f64::from(slots) * (TURN.as_secs_f64() + 2.0) / run.as_secs_f64();
    for number in 0..backlog as u64 {
        let inserted = store.insert(&task(number)).await;
        assert!(inserted.is_ok(), "{inserted:?}");
    }
    let (calls, returns, measured) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let slow = Layered(Slow {
        latency,
        store,
        calls: calls.clone(),
        returns: returns.clone(),
    });
    let runs = Runs {
        mean: run,
        random: Mutex::new(fastrand::Rng::with_seed(1)),
        from: Instant::now(),
        measured: measured.clone(),
    };
    let settings = ProcessSettings {
        slots,
        turn: TURN,
        ..queue::settings()
    };
    let store: Arc<dyn QueueStore> = Arc::new(slow);
    let clock = Arc::new(TokioClock::starting_at(BEGIN));
    let processor = Processor::new(
        store,
        Arc::new(Topics::default()),
        Arc::new(runs),
        clock,
        settings,
    );
    let invocation = Invocation {
        message_id: "a turn".to_owned(),
        deadline: None,
    };
    let ended = match processor.turn(invocation).await {
        Ok(summary) => f64::from(summary.succeeded),
        Err(error) => panic!("the turn failed: {error}"),
    };
    let (from, until) = MEASURED;
    let all = f64::from(slots) * (until - from).as_micros() as f64;
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    Case {
        busy: rounded(number(&measured) / all),
        calls_per_task: rounded(number(&calls) / ended),
        unstarted: rounded(number(&returns) / ended),
    }
}

fn task(number: u64) -> NewTask {
    let created = BEGIN
        .minus(Duration::from_secs(60))
        .plus(Duration::from_millis(number % 50_000));
    NewTask {
        id: TaskId::from_stored(format!("task-{number:06}")),
        created,
        expires_at: created.ceil_seconds().plus(Duration::from_secs(3_600)),
        not_before: None,
        payload: None,
        create_token: Uuid::from_u128(number.into()),
        keyed: None,
        trace: None,
    }
}
