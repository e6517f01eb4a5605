//! Simulates a storm: messages through an SQS queue, the real ingest and the real processor.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::control::Pause;
use lifo_queue::ingest::{Deadlines, Ingest, IngestReport};
use lifo_queue::process::{ProcessSettings, RateLimit};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::time::{Millis, TokioClock};
use simulator::admission::SharedMeter;
use simulator::cloud::{self, BEGIN, Builder, Cloud, Deed};
use simulator::deployed::INGEST;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use simulator::sync::lock;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::load::{Load, Variant};
use super::queue::{Client, Queue};
use crate::figures::{Played, Run};
use crate::queue as processing;

/// Write limit of an index partition, in units per second.
const UNITS: f64 = 1_000.0;
/// Maximum number of units that a partition saves while it is idle.
const SAVED_UNITS: f64 = 100.0;
const BURST_OF_RUNS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// Number of messages per batch: `ingest.batchSize`, by messages per second that the pollers receive.
const BATCH: usize = 10;
const GATHERED_BATCH: usize = 100;
const GATHERED_FROM: usize = 10_000;
/// Duration of an invocation, without its processor time and repeated writes.
const INVOCATION: Duration = Duration::from_millis(20);
/// Length of a tick. All arrivals in a tick are sent together.
const TICK: Duration = Duration::from_millis(50);

/// The cost of a storm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) receives: u64,
    pub(super) shed: u64,
    /// Number of inserts in the second half.
    pub(super) inserts: u64,
    pub(super) meter_updates: u64,
    pub(super) shed_late: u64,
}

/// The tasks, runs and cost of a storm.
pub(super) type Stormed = (Played, Tally);

/// The available write units of the pending tasks' partition.
#[derive(Clone)]
struct Partition(Arc<Mutex<(f64, Instant)>>);

impl Partition {
    /// Takes a unit if one is available. With `anyway`, the number of units can become negative.
    fn take(&self, anyway: bool) -> bool {
        let mut state = lock(&self.0);
        let (units, at) = *state;
        let now = Instant::now();
        let units = (units + now.duration_since(at).as_secs_f64() * UNITS).min(SAVED_UNITS);
        let taken = anyway || units >= 1.0;
        *state = (if taken { units - 1.0 } else { units }, now);
        taken
    }
}

/// The rate of Lambda's pollers.
struct Pollers {
    every: Duration,
    next: Mutex<Instant>,
}

impl Pollers {
    fn new(messages_per_second: usize, batch: usize) -> Self {
        Self {
            every: Duration::from_secs_f64(batch as f64 / messages_per_second as f64),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits until the pollers may receive another batch.
    async fn turn(&self) {
        let at = {
            let mut next = lock(&self.next);
            let at = (*next).max(Instant::now());
            *next = at + self.every;
            at
        };
        sleep_until(at).await;
    }
}

/// Simulates a storm.
pub(super) fn play(variant: Variant, load: &Load) -> Stormed {
    cloud::play(1, async |builder| {
        let scene = scene(builder, variant, load);
        LocalSet::new().run_until(scene).await
    })
}

async fn scene(builder: Builder, variant: Variant, load: &Load) -> Stormed {
    let clock = TokioClock::starting_at(BEGIN);
    let runs = Arc::<Mutex<Vec<Run>>>::default();
    let partition = Partition(Arc::new(Mutex::new((SAVED_UNITS, Instant::now()))));
    let cloud = start(builder, variant, load, &partition, runs.clone());
    let postpones = variant != Variant::Today;
    let queue = Arc::new(Queue::new(clock, load.every_second));
    let batch = match load.receive.pollers {
        GATHERED_FROM.. => GATHERED_BATCH,
        _ => BATCH,
    };
    let pollers = Arc::new(Pollers::new(load.receive.pollers, batch));
    let meter = Arc::new(SharedMeter {
        item: Arc::new(MemoryStore::new()),
        table: cloud.operator(),
    });
    if load.in_storm && variant == Variant::Admission {
        let left = super::meter::leave(&meter, load).await;
        debug_assert!(left.is_ok(), "{left:?}");
    }
    let tally = Arc::<Mutex<Tally>>::default();
    let half = Instant::now() + load.lasts() / 2;
    for _ in 0..load.invocations {
        let client = Arc::new(Client::new(queue.clone(), postpones));
        let ingest = ingest(&cloud, client.clone(), clock, &partition, load, variant);
        let ingest = ingest.admitting_by(meter.clone());
        let (tally, owing) = (tally.clone(), client.clone());
        let note = move |report: &IngestReport| {
            owing.owe(report);
            let mut tally = lock(&tally);
            tally.shed += u64::from(report.shed.not_admitted);
            if Instant::now() >= half {
                tally.inserts += report.created;
                tally.shed_late += u64::from(report.shed.not_admitted);
            }
        };
        let invocation = Invocation {
            ingest,
            client,
            queue: queue.clone(),
            pollers: pollers.clone(),
            batch,
            waits: !postpones,
            own: postpones && load.receive.own,
        };
        tokio::task::spawn_local(invocation.poll(note));
    }
    let created = send(&cloud, &queue, load).await;
    let runs = lock(&runs).clone();
    let mut tally = *lock(&tally);
    tally.receives = queue.receives();
    // Each invocation's process updates the meter once per second.
    tally.meter_updates = match variant {
        Variant::Admission => load.invocations as u64 * load.lasts().as_secs() / 2,
        Variant::Today | Variant::Postpone => 0,
    };
    let played = Played {
        created,
        runs,
        failed: 0,
    };
    (played, tally)
}

/// Starts the queue and records its runs.
fn start(
    builder: Builder,
    variant: Variant,
    load: &Load,
    partition: &Partition,
    runs: Arc<Mutex<Vec<Run>>>,
) -> Cloud {
    let (takes, begin, downstream) = (partition.clone(), Instant::now(), load.downstream);
    builder
        .process(ProcessSettings {
            slots: load.slots,
            rate: Some(RateLimit {
                interval: Duration::from_secs(1) / load.runs,
                burst: BURST_OF_RUNS,
            }),
            publish_capacity: variant == Variant::Admission,
            ..processing::settings()
        })
        .script(move |task| {
            takes.take(true);
            let started = BEGIN.plus(begin.elapsed());
            let (lasts, deed) = downstream.run(begin.elapsed());
            if deed == Deed::Succeed {
                lock(&runs).push(Run {
                    created: task.task_created,
                    started,
                    ended: started.plus(lasts),
                    success: true,
                    poison: false,
                });
            }
            (lasts, deed)
        })
        .start()
}

/// Sends the messages, and pauses the queue for the specified period. Returns the creation times.
async fn send(cloud: &Cloud, queue: &Queue, load: &Load) -> Vec<Millis> {
    let (begin, mut pause) = (cloud.now(), load.pause);
    let mut created = Vec::new();
    for (messages, lasting) in &load.phases {
        let ticks = usize::try_from(lasting.as_millis() / TICK.as_millis()).unwrap_or(1);
        for tick in 0..ticks {
            let wanted = messages * (tick + 1) / ticks - messages * tick / ticks;
            queue.send(created.len(), wanted);
            created.resize(created.len() + wanted, cloud.now());
            cloud.run_for(TICK).await;
            let passed = cloud.now().since(begin);
            if pause.is_some_and(|(from, _)| from <= passed)
                && let Some((_, to)) = pause.take()
            {
                let pause = Pause {
                    until: begin.plus(to),
                    reason: "a storm".to_owned(),
                    by: None,
                };
                let paused = cloud.operator().pause(&pause).await;
                debug_assert!(paused.is_ok(), "{paused:?}");
            }
        }
    }
    created
}

fn ingest(
    cloud: &Cloud,
    queue: Arc<Client>,
    clock: TokioClock,
    partition: &Partition,
    load: &Load,
    variant: Variant,
) -> Ingest {
    let partition = partition.clone();
    let table: Arc<dyn QueueStore> = cloud.operator();
    let store = FaultyStore::failing_inserts(table, move |_| match partition.take(false) {
        true => None,
        false => Some(Fault::Throttled),
    });
    let mut settings = *INGEST;
    settings.create.default_ttl = load.expiry;
    settings.admission = (variant == Variant::Admission).then_some(load.admission);
    let shed = ShedCounter::new(None);
    Ingest::new(Arc::new(store), queue, shed, Arc::new(clock), settings)
}

/// The invocations in one concurrency slot, one after the other.
struct Invocation {
    ingest: Ingest,
    client: Arc<Client>,
    queue: Arc<Queue>,
    pollers: Arc<Pollers>,
    batch: usize,
    /// Whether throttled writes are retried until they succeed.
    waits: bool,
    /// Whether the ingest receives messages itself while there is a backlog.
    own: bool,
}

impl Invocation {
    async fn poll(self, note: impl Fn(&IngestReport)) {
        loop {
            self.pollers.turn().await;
            let mut batch = self.queue.receive(self.batch);
            sleep(INVOCATION).await;
            if batch.is_empty() {
                continue;
            }
            if self.waits {
                for message in &mut batch {
                    message.receives = 1;
                    message.first_received = message.sent;
                }
            }
            while !batch.is_empty() {
                let now = Instant::now();
                let deadlines = Deadlines {
                    writes: now + Duration::from_secs(25),
                    report: now + Duration::from_secs(29),
                };
                let report = self.ingest.work(&batch, deadlines).await;
                note(&report);
                self.client.pay().await;
                self.client.delete_done(&batch, &report.returned);
                if self.own {
                    let receives = self.ingest.catch_up(&batch, &report, deadlines, &note);
                    receives.await;
                }
                batch.retain(|message| self.waits && report.returned.contains(&message.id));
            }
        }
    }
}
