//! Storms: arrivals above what the table takes, through an SQS queue and the real ingest.
//!
//! The index takes 1,000 write units a second for pending tasks; an insert and a take are one unit
//! each. `today` is an ingest without backpressure: its writes wait in arrival order. `postpone` is
//! the ingest of today's code, and `admission` the same with admission.
//!
//! The figures of a sustained load are those of its second half. At 10,000 arrivals/s and above, the
//! load begins in the state that a long storm leaves: the capacity is known, and the queue holds as
//! many tasks as admission allows. At 100,000 arrivals/s, it lasts for six seconds instead of 40.

mod meter;
mod queue;
mod ramps;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lifo_queue::backoff::Backoff;
use lifo_queue::create::{CreateSettings, LONGEST_TTL};
use lifo_queue::ingest::{
    AdmissionSettings, Deadlines, Ingest, IngestQueue, IngestReport, IngestSettings,
};
use lifo_queue::process::{ProcessSettings, RateLimit};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::Place;
use lifo_queue::time::TokioClock;
use serde::Serialize;
use simulator::cloud::{self, BEGIN, Builder, Cloud, CloudSettings, Deed};
use simulator::faulty::{Fault, FaultyStore};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

use self::meter::SharedMeter;
use self::queue::{Queue, Unchanged};
use self::ramps::Ramp;
use crate::downstream::SERVICE;
use crate::figures::{Played, Run, percentile, rounded};
use crate::{parallel, queue as processing};

/// Write units a second of a partition of the index.
const UNITS: f64 = 1_000.0;
/// Largest number of units that a partition saves while it is idle.
const SAVED_UNITS: f64 = 100.0;
/// Runs a second that the downstream can do, by its rate limit, and a concurrency above that.
const RUNS: u32 = 100;
const SLOTS: u16 = 50;
const BURST_OF_RUNS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// Concurrent invocations of the ingest, up to 10,000 arrivals a second, and messages of a batch.
const INVOCATIONS: usize = 10;
const BATCH: usize = 100;
/// Duration of an invocation without repeated writes.
const INVOCATION: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3_600);
/// Length of a tick. All arrivals of a tick are sent together.
const TICK: Duration = Duration::from_millis(50);
/// The burst: 100,000 messages in ten seconds, then 50 a second.
const BURST: (usize, Duration) = (100_000, Duration::from_secs(10));
const AFTER_BURST: (usize, Duration) = (50, Duration::from_secs(110));
/// A sustained load: arrivals a second, and its duration.
type Rate = (usize, Duration);
/// Sustained loads.
const RATES: [Rate; 6] = [
    (1_000, Duration::from_secs(40)),
    (2_000, Duration::from_secs(40)),
    (3_000, Duration::from_secs(40)),
    (4_000, Duration::from_secs(40)),
    (10_000, Duration::from_secs(40)),
    (100_000, Duration::from_secs(6)),
];
/// Least number of arrivals a second of a load that begins in the state of a long storm.
const LONG_STORM: usize = 10_000;
/// The defaults of admission: tasks admitted per run, and most held tasks.
const ADMISSION: AdmissionSettings = AdmissionSettings {
    factor: 3,
    most_held: 120_000,
};
/// Write units of an insert, and of a take and a settlement, on the table and the index.
const INSERT_UNITS: u64 = 2;
const RUN_UNITS: u64 = 6;

/// Figures of a burst.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Burst {
    /// Runs that ended with success, as a share of those that the downstream could complete.
    goodput: f64,
    /// Age at the start of the tasks sent after the burst, those that did not start included.
    p50_age_of_new_seconds: f64,
    p95_age_of_new_seconds: f64,
    receives_per_message: f64,
}

/// Figures of a sustained load.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sustained {
    goodput: f64,
    /// Share of the started tasks that were less than two seconds old.
    under_2s: f64,
    p99_age_seconds: f64,
    /// Write units of inserts, takes, settlements and the meter, per second.
    write_units: f64,
    /// The same if every task that arrives were inserted.
    write_units_if_all_inserted: f64,
    /// Tasks that were not admitted, as a share of those that were written or not admitted.
    shed: f64,
}

/// `storm.json`.
#[derive(Serialize)]
pub(crate) struct Storm {
    burst: BTreeMap<String, Burst>,
    /// By arrivals a second, by runs a second, by variant.
    sustained: BTreeMap<String, BTreeMap<String, BTreeMap<String, Sustained>>>,
    ramps: BTreeMap<String, Ramp>,
}

impl Storm {
    /// The 95th percentile of the age of tasks sent after the burst, in seconds.
    pub(crate) fn age_after_burst(&self, variant: &str) -> Option<f64> {
        Some(self.burst.get(variant)?.p95_age_of_new_seconds)
    }

    /// The share of started tasks under two seconds old at this number of arrivals a second.
    pub(crate) fn under_2s(&self, arrivals: usize, variant: &str) -> Option<f64> {
        let by_runs = self.sustained.get(&arrivals.to_string())?;
        Some(by_runs.get(&RUNS.to_string())?.get(variant)?.under_2s)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Today,
    Postpone,
    Admission,
}

impl Variant {
    const ALL: [(&'static str, Self); 3] = [
        ("today", Self::Today),
        ("postpone", Self::Postpone),
        ("admission", Self::Admission),
    ];
}

/// The load of a storm.
struct Load {
    /// Numbers of messages, and the time in which they are sent.
    phases: Vec<(usize, Duration)>,
    /// Time from the creation of a task to its expiry.
    expiry: Duration,
    invocations: usize,
    /// Whether it begins in the state of a long storm.
    in_storm: bool,
}

impl Load {
    /// A sustained load, in arrivals a second, or the burst.
    fn of(rate: Option<Rate>) -> Self {
        Self {
            phases: match rate {
                None => vec![BURST, (count(AFTER_BURST), AFTER_BURST.1)],
                Some(rate) => vec![(count(rate), rate.1)],
            },
            expiry: HOUR,
            invocations: rate.map_or(INVOCATIONS, |(rate, _)| INVOCATIONS.max(rate / 2_500)),
            in_storm: rate.is_some_and(|(rate, _)| rate >= LONG_STORM),
        }
    }

    fn lasts(&self) -> Duration {
        self.phases.iter().map(|(_, lasting)| *lasting).sum()
    }
}

/// What a storm cost.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    receives: u64,
    shed: u64,
    /// Of the second half.
    inserts: u64,
    meter_updates: u64,
    shed_late: u64,
}

/// Plays every storm.
pub(crate) fn storms() -> Storm {
    let mut cells: Vec<(Option<Rate>, &'static str, Variant)> = Vec::new();
    for rate in [None].into_iter().chain(RATES.map(Some)) {
        cells.extend(Variant::ALL.map(|(name, variant)| (rate, name, variant)));
    }
    let played = parallel::map(cells, |(rate, name, variant)| {
        let load = Load::of(rate);
        let played = play(variant, &load);
        (rate, name, played, load.lasts())
    });
    let mut storm = Storm {
        burst: BTreeMap::new(),
        sustained: BTreeMap::new(),
        ramps: ramps::all(),
    };
    for (rate, name, (played, tally), lasts) in played {
        match rate {
            None => {
                storm
                    .burst
                    .insert(name.to_owned(), burst(&played, tally.receives));
            }
            Some((rate, _)) => {
                let by_runs = storm.sustained.entry(rate.to_string()).or_default();
                let of_runs = by_runs.entry(RUNS.to_string()).or_default();
                of_runs.insert(name.to_owned(), sustained(&played, tally, lasts));
            }
        }
    }
    storm
}

fn count((per_second, lasting): (usize, Duration)) -> usize {
    per_second * usize::try_from(lasting.as_secs()).unwrap_or(usize::MAX)
}

/// The units of the partition of pending tasks.
#[derive(Clone)]
struct Partition(Arc<Mutex<(f64, Instant)>>);

impl Partition {
    /// Takes a unit, if there is one. With `anyway` the partition may owe it.
    fn take(&self, anyway: bool) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (units, at) = *state;
        let now = Instant::now();
        let units = (units + now.duration_since(at).as_secs_f64() * UNITS).min(SAVED_UNITS);
        let taken = anyway || units >= 1.0;
        *state = (if taken { units - 1.0 } else { units }, now);
        taken
    }
}

/// Plays a storm. Returns the tasks and runs, and what it cost.
fn play(variant: Variant, load: &Load) -> (Played, Tally) {
    let scene = async |builder: Builder| {
        let clock = TokioClock::starting_at(BEGIN);
        let runs = Arc::<Mutex<Vec<Run>>>::default();
        let partition = Partition(Arc::new(Mutex::new((SAVED_UNITS, Instant::now()))));
        let (log, takes, begin) = (runs.clone(), partition.clone(), Instant::now());
        let cloud = builder
            .settings(CloudSettings {
                process: ProcessSettings {
                    slots: SLOTS,
                    rate: Some(RateLimit {
                        interval: Duration::from_secs(1) / RUNS,
                        burst: BURST_OF_RUNS,
                    }),
                    publish_capacity: variant == Variant::Admission,
                    ..processing::settings()
                },
                ..CloudSettings::default()
            })
            .script(move |task| {
                takes.take(true);
                let started = BEGIN.plus(begin.elapsed());
                let run = Run {
                    created: task.task_created,
                    started,
                    ended: started.plus(SERVICE),
                    success: true,
                    poison: false,
                };
                log.lock().unwrap_or_else(PoisonError::into_inner).push(run);
                (SERVICE, Deed::Succeed)
            })
            .start();
        let queue = Arc::new(Queue::new(clock));
        let meter = Arc::new(SharedMeter {
            item: MemoryStore::new(),
            table: cloud.operator(),
        });
        if load.in_storm && variant == Variant::Admission {
            let left = meter.leave(RUNS, ADMISSION.most_held.into()).await;
            debug_assert!(left.is_ok(), "{left:?}");
        }
        let half = begin + load.lasts() / 2;
        let tally = Arc::<Mutex<Tally>>::default();
        for _ in 0..load.invocations {
            let ingest_queue: Arc<dyn IngestQueue> = match variant {
                Variant::Today => Arc::new(Unchanged),
                Variant::Postpone | Variant::Admission => queue.clone(),
            };
            let ingest = ingest(
                &cloud,
                ingest_queue,
                clock,
                &partition,
                load.expiry,
                variant,
            );
            let ingest = ingest.admitting_by(meter.clone());
            let tally = tally.clone();
            let note = move |report: &IngestReport| {
                let late = Instant::now() >= half;
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.shed += u64::from(report.shed.not_admitted);
                if late {
                    tally.inserts += report.created;
                    tally.shed_late += u64::from(report.shed.not_admitted);
                }
            };
            tokio::task::spawn_local(poll(ingest, queue.clone(), variant, note));
        }
        let mut created = Vec::new();
        for (messages, lasting) in &load.phases {
            let ticks = usize::try_from(lasting.as_millis() / TICK.as_millis()).unwrap_or(1);
            for tick in 0..ticks {
                let wanted = messages * (tick + 1) / ticks - messages * tick / ticks;
                queue.send(created.len(), wanted);
                created.resize(created.len() + wanted, cloud.now());
                cloud.run_for(TICK).await;
            }
        }
        let runs = runs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let played = Played {
            created,
            runs,
            failed: 0,
        };
        let mut tally = *tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.receives = queue.receives();
        // Each invocation's process updates the meter once a second.
        tally.meter_updates = match variant {
            Variant::Admission => load.invocations as u64 * load.lasts().as_secs() / 2,
            Variant::Today | Variant::Postpone => 0,
        };
        (played, tally)
    };
    cloud::play(1, async |builder| {
        LocalSet::new().run_until(scene(builder)).await
    })
}

fn ingest(
    cloud: &Cloud,
    queue: Arc<dyn IngestQueue>,
    clock: TokioClock,
    partition: &Partition,
    expiry: Duration,
    variant: Variant,
) -> Ingest {
    let partition = partition.clone();
    let table: Arc<dyn QueueStore> = cloud.operator();
    let store = FaultyStore::failing_inserts(table, move |_| match partition.take(false) {
        true => Fault::None,
        false => Fault::Throttled,
    });
    let settings = IngestSettings {
        create: CreateSettings {
            default_ttl: expiry,
            max_ttl: 24 * HOUR,
            key_ttl: LONGEST_TTL,
            place: Place::Moves,
            groups: false,
        },
        parallel: 32,
        visibility: Backoff {
            base: Duration::from_secs(5),
            max: Duration::from_secs(900),
        },
        admission: (variant == Variant::Admission).then_some(ADMISSION),
    };
    let shed = ShedCounter::new(None);
    Ingest::new(Arc::new(store), queue, shed, Arc::new(clock), settings)
}

/// One of the ingest's concurrent invocations after the other.
async fn poll(ingest: Ingest, queue: Arc<Queue>, variant: Variant, note: impl Fn(&IngestReport)) {
    loop {
        let mut batch = queue.receive(BATCH);
        sleep(INVOCATION).await;
        if batch.is_empty() {
            continue;
        }
        if variant == Variant::Today {
            for message in &mut batch {
                message.receives = 1;
                message.first_received = message.sent;
            }
        }
        // Without backpressure, throttled writes are repeated until they succeed.
        loop {
            let now = Instant::now();
            let deadlines = Deadlines {
                writes: now + Duration::from_secs(25),
                report: now + Duration::from_secs(29),
            };
            let report = ingest.work(&batch, deadlines).await;
            note(&report);
            queue.delete(&batch, &report.returned);
            batch.retain(|message| report.returned.contains(&message.id));
            if batch.is_empty() || variant != Variant::Today {
                break;
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of tasks")]
fn burst(played: &Played, receives: u64) -> Burst {
    let (begin, end) = (BEGIN.plus(BURST.1), BEGIN.plus(BURST.1 + AFTER_BURST.1));
    let mut ages = ages(played, |run| run.created >= begin);
    // Tasks that never started are older than any that did. The last two seconds may yet start.
    let recent = end.minus(Duration::from_secs(2));
    let new = played
        .created
        .iter()
        .filter(|at| **at >= begin && **at < recent);
    let new = new.count();
    ages.resize(ages.len().max(new), end.since(begin).as_secs_f64());
    Burst {
        goodput: goodput(played, (BURST.1 + AFTER_BURST.1).as_secs_f64()),
        p50_age_of_new_seconds: rounded(percentile(&ages, 50)),
        p95_age_of_new_seconds: rounded(percentile(&ages, 95)),
        receives_per_message: rounded(receives as f64 / played.created.len() as f64),
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of tasks")]
fn sustained(played: &Played, tally: Tally, lasts: Duration) -> Sustained {
    let half = BEGIN.plus(lasts / 2);
    let seconds = lasts.as_secs_f64() / 2.0;
    let runs = played.runs.iter().filter(|run| run.started >= half).count() as u64;
    let arrivals = played.created.iter().filter(|at| **at >= half).count() as u64;
    let units = |inserts| INSERT_UNITS * inserts + RUN_UNITS * runs + tally.meter_updates;
    let ages = ages(played, |run| run.started >= half);
    let under = ages.iter().filter(|age| **age < 2.0).count();
    Sustained {
        goodput: rounded(runs as f64 / (f64::from(RUNS) * seconds)),
        under_2s: rounded(under as f64 / ages.len().max(1) as f64),
        p99_age_seconds: rounded(percentile(&ages, 99)),
        write_units: rounded(units(tally.inserts) as f64 / seconds),
        write_units_if_all_inserted: rounded(units(arrivals) as f64 / seconds),
        shed: rounded(tally.shed_late as f64 / (tally.shed_late + tally.inserts).max(1) as f64),
    }
}

/// Ages at the start of these runs, in seconds, ascending.
fn ages(played: &Played, wanted: impl Fn(&Run) -> bool) -> Vec<f64> {
    let runs = played.runs.iter().filter(|run| wanted(run));
    let mut ages: Vec<f64> = runs
        .map(|run| run.started.since(run.created).as_secs_f64())
        .collect();
    ages.sort_by(f64::total_cmp);
    ages
}

/// Runs as a share of those that the downstream could do in this time.
#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
fn goodput(played: &Played, seconds: f64) -> f64 {
    let possible = f64::from(RUNS) * seconds;
    rounded(played.runs.len() as f64 / possible)
}
