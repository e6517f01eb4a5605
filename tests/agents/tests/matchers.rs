//! Eight matchers and as many agents at once, whose transactions conflict as on DynamoDB.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::{AgentState, IdleStatus};
use agent_queue::call::{Call, CallState, OutboxEvent};
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::memory::MemoryStore;
use agent_queue::store::{AgentStore, Order};
use agent_queue::time::{Clock, Micros, TokioClock};
use agents::contended::{Contended, Seen};
use agents::watched::watched;
use agents::{NOW, agent_id, call_id, criteria, profile, rows, tally};
use fastrand::Rng;
use futures::future::join_all;
use simulator::seeds::Seeds;
use tokio::runtime::Builder;

const MATCHERS: u64 = 8;
const CALLS: u64 = 8;
const AGENTS: u64 = 12;
const ROUNDS: u64 = 6;

const LANGUAGES: [&str; 3] = ["English", "French", "Spanish"];
const GENDERS: [&str; 2] = ["F", "M"];

/// The store, the watch, the clock and the queue of one run.
struct Game {
    store: Arc<dyn AgentStore>,
    watch: Arc<Contended>,
    clock: Arc<TokioClock>,
    queue: AgentQueue,
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

async fn sleep(rng: &mut Rng) {
    tokio::time::sleep(Duration::from_micros(rng.u64(0..60_000))).await;
}

impl Game {
    fn set(seed: u64) -> Arc<Self> {
        let order = if seed.is_multiple_of(3) {
            Order::Lifo
        } else {
            Order::Fifo
        };
        let store: Arc<dyn AgentStore> = Arc::new(MemoryStore::new());
        let watch = Contended::new(seed, order);
        let watch = Arc::new(match seed % 2 {
            0 => watch,
            _ => watch.rejecting_both(),
        });
        let clock = Arc::new(TokioClock::starting_at(NOW));
        let settings = Settings {
            order,
            max_wait: Duration::from_secs(if seed.is_multiple_of(2) { 900 } else { 1 }),
            call_lease: seed.is_multiple_of(5).then_some(Duration::from_millis(300)),
            page: 1 + u16::try_from(seed % 5).unwrap(),
            ..Settings::default()
        };
        let watched = Arc::new(watched(store.clone(), watch.clone()));
        let queue = AgentQueue::new(watched, clock.clone(), settings);
        Arc::new(Self {
            store,
            watch,
            clock,
            queue,
        })
    }

    /// Registers, is queued, sometimes leaves, finishes calls, and is queued again.
    async fn agent(self: Arc<Self>, seed: u64, number: u64) {
        let mut rng = Rng::with_seed(seed ^ (number << 32));
        let id = agent_id(&format!("a{number}"));
        let languages = [pick(&mut rng, &LANGUAGES), pick(&mut rng, &LANGUAGES)];
        let profile = profile(&languages, pick(&mut rng, &GENDERS));
        self.queue.register(&id, "Ana", &profile).await.unwrap();
        for _ in 0..ROUNDS {
            self.queue.become_available(&id).await.unwrap();
            sleep(&mut rng).await;
            // Two processes queue the agent at the same time.
            let desks = [self.clone(), self.clone()].map(|game| {
                let id = id.clone();
                tokio::spawn(async move { game.queue.enqueue(&id).await })
            });
            for desk in join_all(desks).await {
                desk.unwrap().unwrap();
            }
            sleep(&mut rng).await;
            if rng.u8(0..6) == 0 {
                self.queue.leave(&id, IdleStatus::Available).await.unwrap();
            }
            let agent = self.store.agent(&id).await.unwrap().unwrap();
            if let AgentState::AttendingCall { call, .. } = agent.state {
                sleep(&mut rng).await;
                self.queue.finish(&id, &call, agent.ticket).await.unwrap();
            }
        }
    }

    /// Sends calls. Some are repeated, some at the same time as by another matcher.
    async fn matcher(self: Arc<Self>, seed: u64, number: u64) {
        let mut rng = Rng::with_seed(seed ^ (number << 40) ^ 1);
        for n in 0..CALLS {
            let language = pick(&mut rng, &["English", "French", "Spanish", "Spanish", "*"]);
            let gender = pick(&mut rng, &["F", "M", "*"]);
            // In one of four cases, sends a call of the next matcher.
            let of = if rng.u8(0..4) == 0 {
                (number + 1) % MATCHERS
            } else {
                number
            };
            let call = Call {
                id: call_id(&format!("c{of}-{n}")),
                criteria: criteria(&format!("{language}#{gender}")),
                arrived: self.clock.now(),
                sequence: 0,
                unanswered: 0,
            };
            let first = self.queue.match_call(&call).await.unwrap().state;
            sleep(&mut rng).await;
            match rng.u8(0..8) {
                0 => drop(self.queue.cancel(&call.id).await.unwrap()),
                1 | 2 => {
                    let again = self.queue.match_call(&call).await.unwrap().state;
                    assert!(first == CallState::Pending || first == again, "{again:?}");
                }
                _ => {}
            }
        }
    }

    /// A few matching agents and calls that arrive at the same time: no later process and no sweep
    /// repairs a missed match.
    async fn cross(self: &Arc<Self>, seed: u64) {
        let mut rng = Rng::with_seed(seed ^ 2);
        let mut all = vec![];
        for n in 0..rng.u64(1..=4) {
            let (game, id) = (self.clone(), agent_id(&format!("a{n}")));
            let profile = profile(&["English", "Spanish"], "M");
            self.queue.register(&id, "Ana", &profile).await.unwrap();
            self.queue.become_available(&id).await.unwrap();
            let later = Duration::from_micros(rng.u64(0..8_000));
            all.push(tokio::spawn(async move {
                tokio::time::sleep(later).await;
                game.queue.enqueue(&id).await.map(drop)
            }));
        }
        for n in 0..rng.u64(1..=4) {
            let wanted = pick(&mut rng, &["Spanish#M", "Spanish#M", "English#*", "*#*"]);
            let (game, criteria) = (self.clone(), criteria(wanted));
            let later = Duration::from_micros(rng.u64(0..8_000));
            all.push(tokio::spawn(async move {
                tokio::time::sleep(later).await;
                let (id, arrived) = (call_id(&format!("c0-{n}")), game.clock.now());
                let call = Call {
                    id,
                    criteria,
                    arrived,
                    sequence: 0,
                    unanswered: 0,
                };
                game.queue.match_call(&call).await.map(drop)
            }));
        }
        for done in join_all(all).await {
            done.unwrap().unwrap();
        }
    }

    async fn sweeper(self: Arc<Self>) {
        let publisher = Recorder;
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_millis(150)).await;
            self.queue.sweep(&publisher).await.unwrap();
        }
    }

    /// Runs all agents, all matchers and a sweeper at once, for a second.
    async fn play(self: &Arc<Self>, seed: u64) {
        let agents = (0..AGENTS).map(|n| tokio::spawn(self.clone().agent(seed, n)));
        let matchers = (0..MATCHERS).map(|n| tokio::spawn(self.clone().matcher(seed, n)));
        let all: Vec<_> = agents.chain(matchers).collect();
        let sweeper = tokio::spawn(self.clone().sweeper());
        for done in join_all(all).await {
            done.unwrap();
        }
        sweeper.await.unwrap();
    }

    /// Checks the end: every assignment counted once, every match stored, no match missed.
    async fn check(&self, seen: &Seen) -> rows::Rows {
        assert_eq!(seen.violations, [""; 0]);
        let calls = (0..MATCHERS).flat_map(|m| (0..CALLS).map(move |n| format!("c{m}-{n}")));
        let calls: Vec<_> = calls.map(|id| call_id(&id)).collect();
        let rows = rows::stored(&*self.store, &calls).await.unwrap();
        tally::check(&rows).unwrap();
        let mut tickets = BTreeSet::new();
        let mut matched = BTreeMap::new();
        for made in &seen.assignments {
            assert!(tickets.insert(made.ticket.to_string()), "{made:?} twice");
            assert!(
                matched.insert(&made.call_id, made).is_none(),
                "{made:?} again"
            );
        }
        for id in &calls {
            let there = self.store.call(id).await.unwrap();
            let state = there.map(|record| record.state);
            let assigned = match &state {
                Some(CallState::Assigned(made)) => Some(made),
                _ => None,
            };
            assert_eq!(assigned, matched.get(id).copied(), "{id}");
        }
        // Agents and calls are written before the read, so no pending call has a matching queued
        // agent.
        for count in self.store.pending().await.unwrap() {
            for queue in self.store.queues().await.unwrap() {
                let pair = count.depth > 0 && queue.depth > 0 && count.criteria.fits(&queue.queue);
                let waits = self.store.calls_in_line(&count.criteria, 1).await.unwrap();
                assert!(!pair, "{waits:?} not assigned, though {queue:?} matches");
            }
        }
        rows
    }
}

/// Fails every publish, so that each event stays in the table and can be counted.
struct Recorder;

#[async_trait::async_trait]
impl agent_queue::publish::Publisher for Recorder {
    async fn publish(
        &self,
        events: &[OutboxEvent],
    ) -> Vec<Result<(), agent_queue::publish::PublishError>> {
        let failed = |event: &OutboxEvent| {
            Err(agent_queue::publish::PublishError {
                call: event.call_id().to_string(),
                reason: "no subscriber".to_owned(),
            })
        };
        events.iter().map(failed).collect()
    }
}

fn play(seed: u64, scene: impl AsyncFn(&Arc<Game>, u64)) -> Seen {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    // The jitter of repeated changes comes from this seed too.
    fastrand::seed(seed);
    runtime.block_on(async {
        let game = Game::set(seed);
        scene(&game, seed).await;
        let seen = game.watch.seen();
        game.check(&seen).await;
        let events = game
            .store
            .outbox_entries(None, Micros(u64::MAX), 1_000)
            .await
            .unwrap();
        let published: BTreeSet<_> = events.iter().map(|entry| entry.event.call_id()).collect();
        let assigned = seen.assignments.iter();
        assert!(
            assigned
                .clone()
                .all(|made| published.contains(&made.call_id))
        );
        seen
    })
}

fn part(seeds: Range<u64>, scene: impl AsyncFn(&Arc<Game>, u64) + Copy) {
    let Seeds { range, usual } = Seeds::of(seeds);
    let count = range.end - range.start;
    let (mut commits, mut conflicts, mut assignments) = (0, 0, 0);
    for seed in range {
        let seen = catch_unwind(AssertUnwindSafe(|| play(seed, scene)));
        let seen = seen.unwrap_or_else(|_| {
            panic!(
                "seed {seed}; play it again: FRESHQ_SEED={seed} cargo nextest run --package agents"
            )
        });
        commits += seen.commits;
        conflicts += seen.conflicts;
        assignments += seen.assignments.len();
    }
    println!("{count} games, {commits} changes, {conflicts} conflicts, {assignments} assignments");
    assert!(
        !usual || (conflicts > count && assignments > 0),
        "too few conflicts, or no assignments"
    );
}

#[test]
fn games_0() {
    part(0..60, Game::play);
}

#[test]
fn games_1() {
    part(60..120, Game::play);
}

#[test]
fn crossings() {
    part(0..1_000, Game::cross);
}
