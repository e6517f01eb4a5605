//! The schedule for a seed.

mod downstream;
mod groups;
mod keys;
mod limit;
mod pages;
mod short;
mod storm;

use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use lifo_queue::backoff::Backoff;
use lifo_queue::process::{BreakerSettings, CodelSettings};
use lifo_queue::store::memory::Record;
use lifo_queue::task::{Task, TaskId, Ttl};
use lifo_queue::time::Millis;
use serde_json::{Value, json};
use simulator::cloud::{Cloud, CloudSettings, Deed, WRITES};
use simulator::fault::{Fault, Rates};
use tokio::time::Instant;

use self::downstream::{Downstream, downstream};
use self::groups::Grouped;
use self::limit::Limited;
use self::pages::Pages;
use self::storm::Storm;

/// Maximum virtual time until every task of a schedule must have ended.
pub const MOST: Duration = Duration::from_secs(4 * 3600);

pub struct Schedule {
    pub settings: CloudSettings,
    pub rates: Rates,
    pub faults_for: Duration,
    load: Vec<Burst>,
    downstream: Downstream,
    pages: Option<Pages>,
    limited: Option<Limited>,
    storm: Option<Storm>,
    grouped: Option<Grouped>,
}

struct Burst {
    after: Duration,
    specs: Vec<Value>,
    /// Set if a direct writer puts the tasks without `create-tasks`. If true, the tasks' `ttl` is
    /// in milliseconds. If false, the tasks have no `ttl`.
    foreign: Option<bool>,
}

impl Schedule {
    pub fn of(seed: u64, most_tasks: usize) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x5eed_0001);
        let rng = &mut rng;
        let schedule = Self {
            settings: settings(rng),
            rates: rates(rng),
            faults_for: Duration::from_secs(rng.u64(30..400)),
            load: load(rng, most_tasks),
            downstream: downstream(rng),
            pages: None,
            limited: None,
            storm: None,
            grouped: None,
        };
        let schedule = match rng.u32(0..6) {
            0 => schedule.stalling(rng),
            _ => schedule,
        };
        let schedule = schedule.with_outages(&mut Rng::with_seed(seed ^ 0x5eed_0002));
        let schedule = schedule.with_keys(&mut Rng::with_seed(seed ^ 0x5eed_0003));
        let schedule = schedule.with_full_pages(&mut Rng::with_seed(seed ^ 0x5eed_0004));
        let schedule = schedule.with_limit(&mut Rng::with_seed(seed ^ 0x5eed_0005));
        let schedule = schedule.with_groups(&mut Rng::with_seed(seed ^ 0x5eed_0006));
        let schedule = schedule.with_storm(&mut Rng::with_seed(seed ^ 0x5eed_0007));
        // With this number, the seeds that once broke a guarantee keep their schedules.
        schedule.with_short_runs(most_tasks, &mut Rng::with_seed(seed ^ 0x5eed_0020))
    }

    /// Adds a circuit breaker to half of the schedules, an outage to a sixth, and CoDel and a
    /// target latency to a third each.
    fn with_outages(mut self, rng: &mut Rng) -> Self {
        self.settings.process.breaker = rng.bool().then(|| BreakerSettings {
            former_pause_after: Duration::from_secs(1),
            max_returns: *pick(rng, &[1, 500]),
        });
        if rng.u32(0..6) == 0 {
            // Fail nearly all tasks, so that the circuit breaker opens.
            self.downstream.unavailable = 100;
        }
        self.settings.process.codel = (rng.u32(0..3) == 0).then(|| CodelSettings {
            target: Duration::from_millis(*pick(rng, &[50, 1_000])),
            interval: Duration::from_millis(*pick(rng, &[100, 5_000])),
        });
        let latencies = [None, None, Some(Duration::from_millis(400))];
        self.settings.process.target_latency = *pick(rng, &latencies);
        self
    }

    /// Adds long runs in processes that are cut off from the table. Other processes acquire the
    /// leases while the cut-off processes are still working, and functions reach their deadlines.
    fn stalling(mut self, rng: &mut Rng) -> Self {
        let seconds = Duration::from_secs;
        self.settings.process.slots = self.settings.process.slots.min(2);
        self.settings.process.turn = seconds(60);
        self.settings.process.task_timeout = seconds(90);
        self.settings.process_tasks.timeout = seconds(*pick(rng, &[105, 180]));
        self.settings.process_tasks.concurrency = Some(2);
        self.downstream.hang = 40;
        self.rates = self
            .rates
            .with(Fault::Partition, 0.6)
            .with(Fault::NotificationDuplicated, 0.5);
        self
    }

    /// Returns the number of tasks that admission shed, once the schedule has been played.
    #[must_use]
    pub fn not_admitted(&self) -> u64 {
        let storm = self.storm.as_ref();
        storm.map_or(0, |storm| storm.shed.load(Ordering::Relaxed))
    }

    pub fn script(&self) -> impl Fn(&Task) -> (Duration, Deed) + Send + Sync + 'static {
        let (downstream, limited) = (self.downstream, self.limited.clone());
        let grouped = self.grouped.clone();
        move |task| {
            if let Some(grouped) = &grouped {
                grouped.start(task);
            }
            if let Some(limited) = &limited {
                limited.start();
            }
            downstream.deed(task)
        }
    }

    /// Creates the load and waits until all its tasks have ended. Returns a broken guarantee, if
    /// any.
    pub async fn play(&self, cloud: &Cloud) -> Option<String> {
        let began = match &self.limited {
            Some(limited) => limited.set(cloud).await,
            None => Instant::now(),
        };
        if let Some(grouped) = &self.grouped {
            grouped.pause(cloud).await;
        }
        if let Some(pages) = self.pages {
            pages.fill(cloud, self.settings.process.order);
        }
        for burst in &self.load {
            cloud.run_for(burst.after).await;
            if let Some(in_millis) = burst.foreign {
                cloud
                    .put_batch(&burst.foreign_tasks(in_millis, cloud.now()))
                    .await;
                continue;
            }
            let mut left = burst.specs.clone();
            // A producer sends failed tasks again with the same ids, at most three times in total.
            for _ in 0..3 {
                let report = cloud.invoke_create(&left).await;
                let failed = report.map(|report| report.failed);
                left = match failed {
                    Some(failed) => failed.iter().map(|task| left[task.index].clone()).collect(),
                    None => left,
                };
                if left.is_empty() {
                    break;
                }
                cloud.run_for(Duration::from_secs(1)).await;
            }
        }
        let broken = match (&self.storm, self.pages) {
            (Some(storm), _) => storm.play(cloud).await,
            (None, Some(pages)) => pages.clear(cloud).await,
            (None, None) => None,
        };
        cloud.run_until_settled(MOST).await;
        let (limited, grouped) = (self.limited.as_ref(), self.grouped.as_ref());
        broken
            .or_else(|| limited?.broken(began, self.settings.skew))
            .or_else(|| grouped?.broken(began, &self.settings))
    }
}

impl Burst {
    fn foreign_tasks(&self, in_millis: bool, now: Millis) -> Vec<(TaskId, Record)> {
        let ids = self.specs.iter().filter_map(|spec| spec["taskId"].as_str());
        let record = |place: i64| {
            let ttl = match in_millis {
                true => Ttl::Milliseconds(now.plus(Duration::from_secs(1_800))),
                false => Ttl::Missing,
            };
            Record::pending(Millis(now.0 + place), ttl)
        };
        let ids = ids.map(TaskId::from_stored);
        ids.zip(0..)
            .map(|(id, place)| (id, record(place)))
            .collect()
    }
}

fn settings(rng: &mut Rng) -> CloudSettings {
    let mut settings = CloudSettings::default();
    let seconds = Duration::from_secs;
    settings.process.slots = rng.u16(1..=10);
    settings.process.turn = seconds(*pick(rng, &[2, 10, 60]));
    settings.process.max_attempts = rng.u32(2..=5);
    settings.process.max_busy_returns = rng.u32(2..=6);
    settings.process.max_idle_turns = *pick(rng, &[1, 3, 10]);
    settings.process.backoff = Backoff {
        base: seconds(1),
        max: seconds(*pick(rng, &[5, 60, 300])),
    };
    settings.process_tasks.concurrency = Some(*pick(rng, &[1, 2, 2]));
    settings.process_tasks.retries = *pick(rng, &[0, 1, 1, 2]);
    settings.stream.shards = rng.u32(1..=3);
    settings.stream.batch_size = *pick(rng, &[2, 10, 100]);
    settings.stream.window = seconds(*pick(rng, &[0, 0, 10]));
    settings.stream.retries = *pick(rng, &[1, 5]);
    settings.index_lag = Duration::from_millis(*pick(rng, &[0, 50, 1_500]));
    settings.skew = Duration::from_millis(*pick(rng, &[0, 0, 900]));
    settings
}

/// Draws the fault rates. Some schedules lose nothing, to check the guarantees without losses.
/// Others have a few faults of every kind, or many faults of one kind.
fn rates(rng: &mut Rng) -> Rates {
    use Fault as F;
    const HARMLESS: [F; 13] = [
        F::Throttled,
        F::Unavailable,
        F::TransactionConflict,
        F::LostAck,
        F::LateWrite,
        F::Latency,
        F::StaleIndex,
        F::PublishRejected,
        F::PublishUnanswered,
        F::NotificationDuplicated,
        F::NotificationDelayed,
        F::StreamDelayed,
        F::BatchRepeated,
    ];
    const HARMFUL: [F; 5] = [
        F::Partition,
        F::StaleBeyondLag,
        F::NotificationLost,
        F::KilledAtCall,
        F::KilledAtRandom,
    ];
    let mut rates = Rates::none().with(F::PartialBatch, 0.5);
    let theme = rng.u32(0..10);
    for kind in HARMLESS {
        if rng.u32(0..3) > 0 {
            let per_call = if WRITES.contains(&kind) { 0.04 } else { 0.3 };
            rates = rates.with(kind, rng.f64() * per_call);
        }
    }
    if theme >= 3 {
        for kind in HARMFUL {
            if rng.bool() {
                let most = if kind == F::StaleBeyondLag { 0.05 } else { 0.3 };
                rates = rates.with(kind, rng.f64() * most);
            }
        }
    }
    if theme >= 8 {
        let kind = *pick(
            rng,
            &[F::Throttled, F::Unavailable, F::LostAck, F::PublishRejected],
        );
        rates = rates.with(kind, 0.2 + rng.f64() * 0.5);
    }
    rates
}

fn load(rng: &mut Rng, most_tasks: usize) -> Vec<Burst> {
    let bursts = rng.usize(1..=4);
    let each = (most_tasks / bursts).max(1);
    let mut number = 0;
    let mut burst = |rng: &mut Rng| {
        let count = rng.usize(1..=each);
        let specs = (0..count).map(|_| {
            number += 1;
            let mut spec = json!({"taskId": format!("t{number:02}")});
            if rng.u32(0..10) == 0 {
                spec["ttlSeconds"] = json!(rng.u32(1..90));
            }
            if number % 11 == 0 {
                spec["delaySeconds"] =
                    json!(number % 90 % spec["ttlSeconds"].as_u64().unwrap_or(3_600));
            }
            spec
        });
        specs.collect()
    };
    (0..bursts)
        .map(|_| Burst {
            after: Duration::from_millis(rng.u64(0..60_000)),
            specs: burst(rng),
            foreign: (rng.u32(0..5) == 0).then(|| rng.bool()),
        })
        .collect()
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(0..from.len())]
}
