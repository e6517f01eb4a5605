//! Keys under overload: the age of each key's last known state, and how often an older state
//! overwrites a newer one.
//!
//! The states of a hundred keys arrive at ten times the downstream's capacity. Some keys are much
//! more frequent than others. Each state expires after ten seconds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use lifo_queue::process::ProcessSettings;
use lifo_queue::store::Order;
use lifo_queue::time::Millis;
use serde::Serialize;
use serde_json::json;
use simulator::cloud::{self, BEGIN, Deed};
use simulator::sync::lock;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::arrivals::{Arrivals, TICK};
use crate::downstream::{CAPACITY, SERVICE, capacity_per_second};
use crate::figures::rounded;
use crate::parallel;
use crate::queue::{self, settings};

const KEYS: usize = 100;
const LOAD: f64 = 10.0;
const LASTING: Duration = Duration::from_secs(180);
/// Warm-up time, after which ages are measured.
const WARM: Duration = Duration::from_secs(60);
const EXPIRY: Duration = Duration::from_secs(10);
const SEED: u64 = 1;

/// Figures by discipline.
pub(crate) type Keys = BTreeMap<String, Ages>;

/// Figures for the last known states of all keys.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Ages {
    /// The average age of the last known state, over keys and time.
    pub(crate) mean_age_seconds: f64,
    /// Number of runs that overwrote a newer state.
    overwrites_newer: usize,
    runs: usize,
}

#[derive(Clone, Copy, Debug)]
enum Discipline {
    /// Processes the oldest state first, without the queue.
    ArrivalOrder,
    /// Processes states with the real core, with or without keys.
    Core { order: Order, keyed: bool },
}

/// Simulates every discipline.
pub(crate) fn ages() -> Keys {
    let core = |order, keyed| Discipline::Core { order, keyed };
    let disciplines = vec![
        ("arrival_order", Discipline::ArrivalOrder),
        ("newest_first", core(Order::NewestFirst, false)),
        ("latest_wins", core(Order::NewestFirst, true)),
        ("oldest_key_first", core(Order::OldestFirst, true)),
    ];
    let figures = parallel::map(disciplines, |(name, discipline)| {
        let known = match discipline {
            Discipline::ArrivalOrder => in_arrival_order(),
            Discipline::Core { order, keyed } => by_the_core(order, keyed),
        };
        (name.to_owned(), known.ages())
    });
    figures.into_iter().collect()
}

/// Draws the keys whose states arrive in each tick. By Zipf's law, the n-th key is 1/n as frequent
/// as the first.
fn arrivals() -> Vec<Vec<usize>> {
    let mut rng = Rng::with_seed(SEED ^ 0x0ae5_0001);
    let weights: Vec<f64> = (1..=KEYS).map(|rank| 1.0 / rank as f64).collect();
    let total: f64 = weights.iter().sum();
    let mut key = || {
        let mut drawn = rng.f64() * total;
        let hit = |weight: &f64| {
            drawn -= weight;
            drawn < 0.0
        };
        weights.iter().position(hit).unwrap_or(KEYS - 1)
    };
    let pattern = Arrivals::Poisson {
        per_second: LOAD * capacity_per_second(),
        lasting: LASTING,
    };
    let batches = pattern.batches(SEED).into_iter();
    batches
        .map(|batch| batch.iter().map(|_| key()).collect())
        .collect()
}

/// End time, key and creation time of the written state, per run.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<Vec<(Millis, usize, Millis)>>>);

impl Known {
    fn write(&self, ended: Millis, key: usize, created: Millis) {
        lock(&self.0).push((ended, key, created));
    }

    fn ages(&self) -> Ages {
        let mut writes = lock(&self.0);
        writes.sort_unstable();
        let (from, to) = (BEGIN.plus(WARM), BEGIN.plus(LASTING));
        // Every key is known when the simulation starts.
        let mut known = [(BEGIN, BEGIN); KEYS];
        let (mut area, mut overwrites_newer) = (0.0, 0);
        let mut grow = |(since, created): (Millis, Millis), until: Millis| {
            let (since, until) = (since.max(from), until.min(to));
            let (first, last) = (since.since(created), until.since(created));
            if until > since {
                let mean = f64::midpoint(first.as_secs_f64(), last.as_secs_f64());
                area += mean * until.since(since).as_secs_f64();
            }
        };
        for (ended, key, created) in &*writes {
            grow(known[*key], *ended);
            overwrites_newer += usize::from(*created < known[*key].1);
            known[*key] = (*ended, *created);
        }
        for last in known {
            grow(last, to);
        }
        let keys = KEYS as f64;
        Ages {
            mean_age_seconds: rounded(area / keys / to.since(from).as_secs_f64()),
            overwrites_newer,
            runs: writes.len(),
        }
    }
}

/// Runs the real core on the virtual clock.
fn by_the_core(order: Order, keyed: bool) -> Known {
    let known = Known::default();
    cloud::play(SEED, async |builder| {
        let begin = Instant::now();
        let told = known.clone();
        let process = ProcessSettings {
            order,
            ..settings()
        };
        let cloud = builder
            .process(process)
            .script(move |task| {
                let ended = BEGIN.plus(begin.elapsed() + SERVICE);
                let key = task.payload["key"].as_u64().unwrap_or_default();
                told.write(ended, usize::try_from(key).unwrap_or(0), task.task_created);
                (SERVICE, Deed::Succeed)
            })
            .start();
        for batch in arrivals() {
            let end = Instant::now() + TICK;
            let now = cloud.now();
            let spec = |key: &usize| {
                let mut spec = queue::spec(now, EXPIRY, &json!({ "key": key }));
                if keyed {
                    spec["key"] = json!(format!("device-{key}"));
                }
                spec
            };
            let specs: Vec<_> = batch.iter().map(spec).collect();
            queue::create(&cloud, &specs).await;
            sleep_until(end).await;
        }
        queue::finish(cloud);
    });
    known
}

/// The creation time and key of each pending state, oldest first.
type Waiting = Arc<Mutex<VecDeque<(Millis, usize)>>>;

/// Simulates workers that take the oldest state, one worker per concurrent downstream run.
fn in_arrival_order() -> Known {
    let known = Known::default();
    cloud::play(SEED, async |_| {
        let begin = Instant::now();
        let waiting = Waiting::default();
        let mut workers = JoinSet::new();
        for _ in 0..CAPACITY {
            workers.spawn(oldest_first(begin, waiting.clone(), known.clone()));
        }
        for batch in arrivals() {
            let end = Instant::now() + TICK;
            let now = BEGIN.plus(begin.elapsed());
            let states = batch.into_iter().map(|key| (now, key));
            lock(&waiting).extend(states);
            sleep_until(end).await;
        }
    });
    known
}

async fn oldest_first(begin: Instant, waiting: Waiting, known: Known) {
    let now = || BEGIN.plus(begin.elapsed());
    loop {
        let oldest = {
            let mut waiting = lock(&waiting);
            let expired = |(created, _): &(Millis, usize)| created.plus(EXPIRY) <= now();
            while waiting.front().is_some_and(expired) {
                waiting.pop_front();
            }
            waiting.pop_front()
        };
        match oldest {
            Some((created, key)) => {
                sleep(SERVICE).await;
                known.write(now(), key, created);
            }
            None => sleep(Duration::from_millis(10)).await,
        }
    }
}
