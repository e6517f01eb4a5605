//! Lanes of multiple concurrent processes. As with the call queue, one process at a time gets the
//! calls of one criteria. Transactions conflict as on DynamoDB.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use agent_queue::call::{Call, CallState};
use agent_queue::matching::lane::Batch;
use agent_queue::queue::Settings;
use agent_queue::store::{AgentStore, Order};
use agent_queue::transaction::Change;
use agents::contended::{Contended, Seen};
use agents::game::{GENDERS, Game, LANGUAGES, play_all};
use agents::watched::{Outcome, Watch, denied, watched};
use agents::world::join;
use agents::{agent, agent_id, call, call_id, profile, queued, wait};
use async_trait::async_trait;
use fastrand::Rng;
use futures::future::join_all;

/// Maximum number of calls per batch.
const BATCH: usize = 10;

struct Lanes {
    game: Game,
    agents: usize,
    calls: usize,
}

fn game(seed: u64, window: u16, rng: &mut Rng) -> Game {
    let order = [Order::Fifo, Order::Lifo][rng.usize(0..2)];
    let watch = Contended::new(seed, order, rng.bool(), usize::from(window) - 1);
    let settings = Settings {
        order,
        contention_window: window,
        ..Settings::default()
    };
    Game::new(watch, settings)
}

impl Lanes {
    fn set(seed: u64, window: u16) -> Self {
        let mut rng = Rng::with_seed(seed);
        Self {
            game: game(seed, window, &mut rng),
            agents: rng.usize(20..120),
            calls: rng.usize(10..60),
        }
    }

    async fn queue_agents(&self, rng: &mut Rng) {
        let queue = self.game.process_on(self.game.store.clone());
        for number in 0..self.agents {
            let spoken: Vec<_> = (0..2).map(|_| LANGUAGES[rng.usize(0..3)]).collect();
            let profile = profile(&spoken, GENDERS[rng.usize(0..2)]);
            join(&queue, &format!("a{number:03}"), &profile).await;
            tokio::time::sleep(Duration::from_micros(1)).await;
        }
    }

    /// Draws calls, in order per criteria. Some have a wildcard for the gender.
    fn draw_calls(&self, rng: &mut Rng) -> BTreeMap<String, Vec<Call>> {
        let mut lanes: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for number in 0..self.calls {
            let gender = ["F", "M", "F", "M", "*"][rng.usize(0..5)];
            let wanted = format!("{}#{gender}", LANGUAGES[rng.usize(0..3)]);
            let call = Call {
                sequence: number as u128,
                ..call(&format!("c{number:03}"), &wanted, 0)
            };
            lanes.entry(wanted).or_default().push(call);
        }
        lanes
    }

    /// Runs each lane in its own process, with up to ten calls per batch, and checks every result.
    async fn play(&self, lanes: BTreeMap<String, Vec<Call>>) {
        let lanes = lanes.into_values().map(|calls| {
            let queue = self.game.process();
            tokio::spawn(async move {
                for batch in calls.chunks(BATCH) {
                    let results = queue.match_lane(batch, &Batch::default()).await;
                    assert_eq!(results.len(), batch.len());
                    for (call, result) in std::iter::zip(batch, results) {
                        let state = result.unwrap().state;
                        let made =
                            matches!(&state, CallState::Assigned(made) if made.call_id == call.id);
                        assert!(made || state == CallState::Pending, "{call:?}: {state:?}");
                    }
                }
            })
        });
        for lane in join_all(lanes.collect::<Vec<_>>()).await {
            lane.unwrap();
        }
    }

    async fn check(&self) -> Seen {
        let calls: Vec<_> = (0..self.calls)
            .map(|n| call_id(&format!("c{n:03}")))
            .collect();
        let seen = self.game.check(&calls).await;
        // Calls in one batch claim agents concurrently, so an earlier call may become pending. A
        // call in a later batch never overtakes one in an earlier batch.
        let side_by_side = if self.game.settings.contention_window > 1 {
            BATCH
        } else {
            1
        };
        let (mut places, mut waits) = (BTreeMap::new(), BTreeMap::new());
        for id in &calls {
            let record = self.game.store.call(id).await.unwrap().unwrap();
            let wanted = record.call.criteria.to_string();
            let place: &mut usize = places.entry(wanted.clone()).or_default();
            let batch = *place / side_by_side;
            *place += 1;
            match record.state {
                CallState::Pending => drop(waits.entry(wanted).or_insert(batch)),
                _ => assert!(
                    waits.get(&wanted).is_none_or(|first| batch <= *first),
                    "{id} overtook a call of {wanted}"
                ),
            }
        }
        seen
    }
}

fn games(window: u16) {
    play_all(0..200, async |seed| {
        let lanes = Lanes::set(seed, window);
        let mut rng = Rng::with_seed(seed ^ 7);
        lanes.queue_agents(&mut rng).await;
        lanes.play(lanes.draw_calls(&mut rng)).await;
        lanes.check().await
    });
}

/// Calls pass over at most seven agents, not counting those in another transaction.
#[test]
fn lanes_pass_over_fewer_agents_than_the_window() {
    games(8);
}

#[test]
fn a_window_of_one_is_strict_order() {
    games(1);
}

#[derive(Default)]
struct RejectsSecond(AtomicUsize);

#[async_trait]
impl Watch for RejectsSecond {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        match self.0.fetch_add(1, Relaxed) {
            1 => denied(),
            _ => store.commit(change).await,
        }
    }
}

/// An earlier call is pending, so the lane's calls join the line one after the other.
#[tokio::test(start_paused = true)]
async fn lane_stops_at_the_first_failed_call() {
    for window in [1, 8] {
        let game = game(0, window, &mut Rng::with_seed(0));
        let call = |number| call(&format!("c{number}"), "English#F", number);
        let first = game
            .process_on(game.store.clone())
            .match_call(&call(0))
            .await;
        assert_eq!(first.unwrap().state, CallState::Pending);

        let watched = watched(game.store.clone(), Arc::new(RejectsSecond::default()));
        let queue = game.process_on(Arc::new(watched));
        let calls = [call(1), call(2), call(3)];
        let results = queue.match_lane(&calls, &Batch::default()).await;

        let are_ok: Vec<_> = results.iter().map(Result::is_ok).collect();
        assert_eq!(are_ok, [true, false], "window {window}");
        let third = game.store.call(&calls[2].id).await.unwrap();
        assert!(third.is_none(), "window {window}");
    }
}

/// A crashed process left a pending call while agents are queued.
#[tokio::test(start_paused = true)]
async fn lane_assigns_the_pending_call_before_its_own_calls() {
    for window in [1, 8] {
        let mut game = game(0, window, &mut Rng::with_seed(0));
        game.settings.order = Order::Fifo;
        for number in 0..20 {
            let agent = agent(&format!("a{number:02}"), &["English"], "F");
            queued(&*game.store, agent, number).await;
        }
        wait(&*game.store, &call("c0", "English#F", 0)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;

        let queue = game.process_on(game.store.clone());
        let calls = [1, 2].map(|number| call(&format!("c{number}"), "English#F", number));
        let results = queue.match_lane(&calls, &Batch::default()).await;

        assert!(results.iter().all(Result::is_ok), "{results:?}");
        for number in 0..3 {
            let id = call_id(&format!("c{number}"));
            let state = game.store.call(&id).await.unwrap().unwrap().state;
            let agent = agent_id(&format!("a{number:02}"));
            assert!(
                matches!(&state, CallState::Assigned(made) if made.agent_id == agent),
                "window {window}, {id}: {state:?}"
            );
        }
    }
}
