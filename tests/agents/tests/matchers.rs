//! Eight matchers and eight agents run concurrently. Their transactions conflict as on DynamoDB.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::{AgentState, IdleStatus};
use agent_queue::call::{Call, CallState};
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::Order;
use agent_queue::time::{Clock, Micros};
use agents::contended::{Contended, Seen};
use agents::game::{GENDERS, Game, LANGUAGES, play_all};
use agents::world::Recorder;
use agents::{agent_id, call_id, criteria, profile};
use fastrand::Rng;
use futures::future::join_all;

const MATCHERS: u64 = 8;
const CALLS: u64 = 8;
const AGENTS: u64 = 12;
const ROUNDS: u64 = 6;

/// A game and the queue that its processes use.
struct Play {
    game: Game,
    queue: AgentQueue,
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

async fn sleep(rng: &mut Rng) {
    tokio::time::sleep(Duration::from_micros(rng.u64(0..60_000))).await;
}

impl Play {
    fn set(seed: u64) -> Arc<Self> {
        let order = if seed.is_multiple_of(3) {
            Order::Lifo
        } else {
            Order::Fifo
        };
        let watch = Contended::new(seed, order, seed % 2 == 1, 0);
        let settings = Settings {
            order,
            max_wait: Duration::from_secs(if seed.is_multiple_of(2) { 900 } else { 1 }),
            call_lease: seed.is_multiple_of(5).then_some(Duration::from_millis(300)),
            page: 1 + u16::try_from(seed % 5).unwrap(),
            ..Settings::default()
        };
        let game = Game::new(watch, settings);
        let queue = game.process();
        Arc::new(Self { game, queue })
    }

    /// Simulates an agent that is queued repeatedly, sometimes leaves, and finishes its calls.
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
            let desks = [self.clone(), self.clone()].map(|play| {
                let id = id.clone();
                tokio::spawn(async move { play.queue.enqueue(&id).await })
            });
            for desk in join_all(desks).await {
                desk.unwrap().unwrap();
            }
            sleep(&mut rng).await;
            if rng.u8(0..6) == 0 {
                self.queue.leave(&id, IdleStatus::Available).await.unwrap();
            }
            let agent = self.game.store.agent(&id).await.unwrap().unwrap();
            if let AgentState::AttendingCall { call, .. } = agent.state {
                sleep(&mut rng).await;
                self.queue.finish(&id, &call, agent.ticket).await.unwrap();
            }
        }
    }

    /// Creates a call that arrives now.
    fn call(&self, id: &str, wanted: &str) -> Call {
        Call::new(call_id(id), criteria(wanted), self.game.clock.now())
    }

    /// Sends calls. Some are repeated, and some are sent by another matcher at the same time.
    async fn matcher(self: Arc<Self>, seed: u64, number: u64) {
        let mut rng = Rng::with_seed(seed ^ (number << 40) ^ 1);
        for n in 0..CALLS {
            let language = pick(&mut rng, &["English", "French", "Spanish", "Spanish", "*"]);
            let gender = pick(&mut rng, &["F", "M", "*"]);
            // In one of four cases, sends one of the next matcher's calls.
            let of = if rng.u8(0..4) == 0 {
                (number + 1) % MATCHERS
            } else {
                number
            };
            let wanted = format!("{language}#{gender}");
            let call = self.call(&format!("c{of}-{n}"), &wanted);
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

    /// A few matching agents and calls arrive at the same time. No later process or sweep repairs a
    /// missed match.
    async fn cross(self: &Arc<Self>, seed: u64) {
        let mut rng = Rng::with_seed(seed ^ 2);
        let mut all = vec![];
        for n in 0..rng.u64(1..=4) {
            let (play, id) = (self.clone(), agent_id(&format!("a{n}")));
            let profile = profile(&["English", "Spanish"], "M");
            self.queue.register(&id, "Ana", &profile).await.unwrap();
            self.queue.become_available(&id).await.unwrap();
            let later = Duration::from_micros(rng.u64(0..8_000));
            all.push(tokio::spawn(async move {
                tokio::time::sleep(later).await;
                play.queue.enqueue(&id).await.map(drop)
            }));
        }
        for n in 0..rng.u64(1..=4) {
            let wanted = pick(&mut rng, &["Spanish#M", "Spanish#M", "English#*", "*#*"]);
            let play = self.clone();
            let later = Duration::from_micros(rng.u64(0..8_000));
            all.push(tokio::spawn(async move {
                tokio::time::sleep(later).await;
                let call = play.call(&format!("c0-{n}"), wanted);
                play.queue.match_call(&call).await.map(drop)
            }));
        }
        for done in join_all(all).await {
            done.unwrap().unwrap();
        }
    }

    async fn sweeper(self: Arc<Self>) {
        // Every publish fails, so that each event remains in the table and can be counted.
        let publisher = Recorder::default();
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_millis(150)).await;
            self.queue.sweep(&publisher).await.unwrap();
        }
    }

    /// Runs all agents, all matchers and a sweeper concurrently for one second.
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

    /// Checks that each assignment belongs to a different call, is stored, and is in the outbox.
    async fn check(&self) -> Seen {
        let calls = (0..MATCHERS).flat_map(|m| (0..CALLS).map(move |n| format!("c{m}-{n}")));
        let calls: Vec<_> = calls.map(|id| call_id(&id)).collect();
        let seen = self.game.check(&calls).await;
        let mut matched = BTreeMap::new();
        for made in &seen.assignments {
            assert!(
                matched.insert(&made.call_id, made).is_none(),
                "{made:?} again"
            );
        }
        let store = &self.game.store;
        for id in &calls {
            let there = store.call(id).await.unwrap();
            let state = there.map(|record| record.state);
            let assigned = match &state {
                Some(CallState::Assigned(made)) => Some(made),
                _ => None,
            };
            assert_eq!(assigned, matched.get(id).copied(), "{id}");
        }
        let events = store.outbox_entries(None, Micros(u64::MAX), 1_000).await;
        let events = events.unwrap();
        let kept: BTreeSet<_> = events.iter().map(|entry| entry.event.call_id()).collect();
        assert!(matched.keys().all(|call| kept.contains(call)));
        seen
    }
}

fn games(seeds: Range<u64>) {
    play_all(seeds, async |seed| {
        let play = Play::set(seed);
        play.play(seed).await;
        play.check().await
    });
}

#[test]
fn games_0() {
    games(0..60);
}

#[test]
fn games_1() {
    games(60..120);
}

#[test]
fn crossings() {
    play_all(0..1_000, async |seed| {
        let play = Play::set(seed);
        play.cross(seed).await;
        play.check().await
    });
}
