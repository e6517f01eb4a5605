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

use self::messages::{Queue, Sink, State, lock, message, receive, tasks_of};
use super::downstream::Downstream;
use super::{Burst, MOST, Schedule};

const TICK: Duration = Duration::from_millis(500);
/// Expiry of tasks. It outlasts a schedule, so each created task stays in the table until it ends.
const EXPIRY: Duration = Duration::from_secs(10 * 3600);

/// A storm.
#[derive(Clone)]
pub(super) struct Storm {
    settings: IngestSettings,
    messages_per_tick: usize,
    ticks: u32,
    /// Ticks at which an operator pauses and resumes the queue.
    pause: Option<(u32, u32)>,
    /// Percentage of the requests to the shed queue that fail.
    rejects: u32,
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
            messages_per_tick: rng.usize(1..=3),
            ticks,
            pause: rng.bool().then(|| {
                let from = rng.u32(0..ticks);
                (from, rng.u32(from..ticks))
            }),
            rejects: rng.u32(0..3) * 10,
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
        let state = Mutex::new(State {
            sends: true,
            ..State::default()
        });
        let item = Arc::new(MemoryStore::new());
        // Two processes that share the meter.
        tokio::join!(
            self.send(cloud, &state),
            self.poll(cloud, &state, &item, 1),
            self.poll(cloud, &state, &item, 2)
        );
        let state = lock(&state);
        self.shed.store(state.shed.len() as u64, Ordering::Relaxed);
        let both: Vec<_> = state.created.intersection(&state.shed).collect();
        let ends = state.created.len() + state.shed.len();
        let late = !state.messages.is_empty();
        state.broken.clone().or_else(|| {
            (late || !both.is_empty() || ends != state.sent).then(|| {
                let (sent, created, shed) = (state.sent, state.created.len(), state.shed.len());
                format!(
                    "S5.14: {sent} tasks sent, {created} created, {shed} shed, both: {both:?}, \
                     messages left: {late}"
                )
            })
        })
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
            for _ in 0..self.messages_per_tick {
                let mut state = lock(state);
                let (tasks, number) = (rng.usize(1..=3), state.messages.len() + state.sent);
                state.sent += tasks;
                state
                    .messages
                    .push(message(format!("m{tick:02}-{number}"), tasks, cloud.now()));
            }
            cloud.run_for(TICK).await;
        }
        lock(state).sends = false;
    }

    /// Processes batches until the queue is empty and no more messages are sent.
    async fn poll(
        &self,
        cloud: &Cloud,
        state: &Mutex<State>,
        item: &Arc<MemoryStore>,
        number: u64,
    ) {
        let queue = Arc::new(Queue);
        let rng = Mutex::new(Rng::with_seed(self.seed ^ number));
        let sink = Arc::new(Sink {
            rejects: self.rejects,
            rng,
            taken: Mutex::default(),
        });
        let mut process: Option<IngestProcess> = None;
        let end = cloud.now().plus(MOST);
        while cloud.now() < end && !lock(state).is_done() {
            let batch = receive(&mut lock(state), cloud.now());
            if batch.is_empty() {
                cloud.run_for(TICK / 2).await;
                continue;
            }
            let shed = ShedCounter::new(Some(sink.clone()));
            let start = || cloud.start_ingest(queue.clone(), shed, self.settings, item.clone());
            let report = process.get_or_insert_with(start).work(&batch).await;
            let taken = std::mem::take(&mut *lock(&sink.taken));
            let mut state = lock(state);
            // A crashed process may have written tasks too.
            let tasks = tasks_of(&state.messages, &batch);
            state
                .created
                .extend(tasks.into_iter().filter(|id| cloud.task(id).is_some()));
            let Some(report) = report else {
                process = None;
                continue;
            };
            state.settle(&batch, &report.returned, &taken, report.shed.counted());
            for message in &mut state.messages {
                if report.returned.contains(&message.delivery.id) {
                    message.visible = cloud.now().plus(TICK);
                }
            }
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
