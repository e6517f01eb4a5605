//! Schedules with a message storm and admission.

mod messages;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use lifo_queue::backoff::Backoff;
use lifo_queue::control::Pause;
use lifo_queue::create::{CreateSettings, LONGEST_TTL};
use lifo_queue::ingest::{AdmissionSettings, IngestSettings};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::Place;
use simulator::cloud::{Cloud, IngestProcess};
use simulator::sync::lock;

use self::messages::{Client, State, VISIBILITY, receive};
use super::downstream::Downstream;
use super::{Burst, MOST, Schedule};

const TICK: Duration = Duration::from_millis(500);
/// Expiry of tasks. It outlasts a schedule, so each created task stays in the table until it ends.
const EXPIRY: Duration = Duration::from_secs(10 * 3600);

/// A storm.
#[derive(Clone)]
pub(super) struct Storm {
    settings: IngestSettings,
    /// Number of messages that are sent at the start, which the first batches cannot contain.
    burst: usize,
    messages_per_tick: usize,
    ticks: u32,
    /// Ticks at which an operator pauses and resumes the queue.
    pause: Option<(u32, u32)>,
    /// Percentage of the requests to the queues that fail.
    rejects: u32,
    /// Percentage of the requests to the queues before or after which the process dies.
    dies: u32,
    seed: u64,
    /// Number of tasks that were not admitted, once the storm has been played.
    pub(super) shed: Arc<AtomicU64>,
}

impl Schedule {
    /// Replaces the load of one in twelve schedules with a storm, with one or two slots.
    pub(super) fn with_storm(mut self, rng: &mut Rng) -> Self {
        if self.pages.is_some() || self.limited.is_some() || rng.u32(0..12) > 0 {
            return self;
        }
        self.load = Vec::<Burst>::new();
        self.settings.process.slots = rng.u16(1..=2);
        self.settings.process.publish_capacity = true;
        self.settings.process.turn = Duration::from_secs(60);
        // Every run succeeds without delay by a rate limit, so that the tasks end within a schedule.
        if let Some(groups) = &mut self.settings.process.groups {
            groups.rate = None;
        }
        self.downstream = Downstream {
            seed: rng.u64(..),
            longest: Duration::from_millis(rng.u64(50..2_000)),
            ..Downstream::default()
        };
        let ticks = rng.u32(30..60);
        self.storm = Some(Storm {
            settings: settings(rng, &self),
            burst: rng.usize(0..=60),
            messages_per_tick: rng.usize(1..=3),
            ticks,
            pause: rng.bool().then(|| {
                let from = rng.u32(0..ticks);
                (from, rng.u32(from..ticks))
            }),
            rejects: rng.u32(0..3) * 10,
            dies: rng.u32(0..3),
            seed: rng.u64(..),
            shed: Arc::default(),
        });
        self
    }
}

fn settings(rng: &mut Rng, schedule: &Schedule) -> IngestSettings {
    IngestSettings {
        create: CreateSettings {
            default_ttl: EXPIRY,
            max_ttl: EXPIRY,
            key_ttl: LONGEST_TTL,
            place: Place::Moves,
            groups: schedule.settings.process.groups.is_some(),
        },
        parallel: 8,
        visibility: Backoff {
            base: Duration::from_secs(1),
            max: Duration::from_secs(20),
        },
        admission: Some(AdmissionSettings {
            factor: rng.u32(1..=3),
            most_held: rng.u32(1..20),
        }),
    }
}

impl Storm {
    /// Sends and processes the messages. Returns a broken guarantee, if any.
    pub(super) async fn play(&self, cloud: &Cloud) -> Option<String> {
        let state = Arc::<Mutex<State>>::default();
        lock(&state).sends = true;
        let item = Arc::new(MemoryStore::new());
        // Two processes that share the meter.
        tokio::join!(
            self.send(cloud, &state),
            self.poll(cloud, &state, &item, 1),
            self.poll(cloud, &state, &item, 2)
        );
        let state = lock(&state);
        self.shed.store(state.shed.len() as u64, Ordering::Relaxed);
        state.broken()
    }

    async fn send(&self, cloud: &Cloud, state: &Mutex<State>) {
        let mut rng = Rng::with_seed(self.seed);
        for tick in 0..self.ticks {
            if let Some((from, to)) = self.pause {
                if tick == from {
                    pause(cloud).await;
                }
                if tick == to {
                    resume(cloud).await;
                }
            }
            let burst = if tick == 0 { self.burst } else { 0 };
            for number in 0..burst + self.messages_per_tick {
                let (tasks, invalid) = (rng.usize(1..=3), rng.u32(0..4) == 0);
                let id = format!("m{tick:02}-{number}");
                lock(state).send(id, tasks, invalid, cloud.now());
            }
            cloud.run_for(TICK).await;
        }
        lock(state).sends = false;
    }

    /// Processes batches until the queue is empty and no more messages are sent.
    async fn poll(
        &self,
        cloud: &Cloud,
        state: &Arc<Mutex<State>>,
        item: &Arc<MemoryStore>,
        number: u64,
    ) {
        let (faults, seed) = ((self.rejects, self.dies), self.seed ^ number);
        let client = Arc::new(Client::new(state.clone(), cloud.now(), faults, seed));
        let mut process: Option<IngestProcess> = None;
        let end = cloud.now().plus(MOST);
        while cloud.now() < end && !lock(state).is_done() {
            let batch = receive(&mut lock(state), cloud.now(), VISIBILITY);
            if batch.is_empty() {
                cloud.run_for(TICK / 2).await;
                continue;
            }
            let shed = ShedCounter::new(Some(client.clone()));
            let start = || cloud.start_ingest(client.clone(), shed, self.settings, item.clone());
            let ingest = process.get_or_insert_with(start);
            let report = tokio::select! {
                report = ingest.work(&batch, |report| client.count(report)) => report,
                () = client.died() => None,
            };
            match report {
                Some(report) => client.respond(&batch, &report.returned),
                None => {
                    client.die();
                    process = None;
                }
            }
            let mut state = lock(state);
            // A dead process may have written tasks too.
            let sent = state.sent.iter();
            let created: Vec<_> = sent
                .filter(|id| cloud.task(id).is_some())
                .cloned()
                .collect();
            state.created.extend(created);
        }
    }
}

async fn pause(cloud: &Cloud) {
    let pause = Pause {
        until: cloud.now().plus(MOST),
        reason: "a schedule".to_owned(),
        by: None,
    };
    // The operator's store has no faults.
    let paused = cloud.operator().pause(&pause).await;
    debug_assert!(paused.is_ok(), "{paused:?}");
}

async fn resume(cloud: &Cloud) {
    let resumed = cloud.operator().resume().await;
    debug_assert!(resumed.is_ok(), "{resumed:?}");
    cloud.wake();
}
