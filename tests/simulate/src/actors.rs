//! Queue disciplines for comparison, in front of the same downstream. They have no store, faults or
//! wake-ups, so they spend no time on store requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifo_queue::time::Millis;
use simulator::cloud::{self, BEGIN, Deed};
use simulator::sync::lock;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::arrivals::TICK;
use crate::downstream::Downstream;
use crate::figures::Played;
use crate::queue::{EXPIRY, Experiment};

/// Number of tasks per page in the published algorithm.
const PAGE: usize = 10;
/// Pause between two task starts within a page in the published algorithm.
const STAGGER: Duration = Duration::from_millis(200);
/// Pause between two pages in the published algorithm.
const BETWEEN_PAGES: Duration = Duration::from_millis(500);
/// Pause of a worker that finds no task.
const IDLE: Duration = Duration::from_millis(10);

/// A queue discipline for comparison with the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// One worker per run that the downstream serves concurrently. Each worker takes the oldest task.
    ArrivalOrder,
    /// The published newest-first sample. It takes the ten newest tasks, starts them 200 ms apart,
    /// waits for the slowest, and pauses for 500 ms. It never sheds.
    PublishedPages,
}

/// Creation times of the pending tasks, oldest first.
type Waiting = Arc<Mutex<VecDeque<Millis>>>;

/// Simulates an experiment with this discipline instead of the core.
pub(crate) fn play(actor: Actor, experiment: &Experiment) -> Played {
    let downstream = Downstream::new(experiment.model, experiment.outage);
    let created = cloud::play(experiment.seed, async |_| {
        scene(actor, experiment, &downstream).await
    });
    Played {
        created,
        runs: downstream.runs(),
        failed: 0,
    }
}

async fn scene(actor: Actor, experiment: &Experiment, downstream: &Downstream) -> Vec<Millis> {
    let shared = Shared {
        begin: Instant::now(),
        waiting: Waiting::default(),
        downstream: downstream.clone(),
    };
    let mut workers = JoinSet::new();
    match actor {
        Actor::ArrivalOrder => {
            for _ in 0..experiment.model.concurrency() {
                workers.spawn(shared.clone().in_arrival_order());
            }
        }
        Actor::PublishedPages => {
            workers.spawn(shared.clone().in_pages());
        }
    }
    let mut created = Vec::new();
    for batch in experiment.arrivals.batches(experiment.seed) {
        let end = Instant::now() + TICK;
        let now = shared.now();
        created.resize(created.len() + batch.len(), now);
        shared.with(|waiting| waiting.resize(waiting.len() + batch.len(), now));
        sleep_until(end).await;
    }
    sleep(experiment.rest).await;
    created
}

#[derive(Clone)]
struct Shared {
    begin: Instant,
    waiting: Waiting,
    downstream: Downstream,
}

impl Shared {
    fn now(&self) -> Millis {
        BEGIN.plus(self.begin.elapsed())
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut VecDeque<Millis>) -> T) -> T {
        use_it(&mut lock(&self.waiting))
    }

    async fn run(&self, created: Millis) {
        let (takes, deed) = self.downstream.call(created, false, self.now());
        sleep(takes).await;
        if deed != Deed::Succeed {
            // Reinsert by creation time, like the index.
            self.with(|waiting| {
                let place = waiting.partition_point(|other| *other <= created);
                waiting.insert(place, created);
            });
        }
    }

    async fn in_arrival_order(self) {
        loop {
            let now = self.now();
            let oldest = self.with(|waiting| {
                let expired = |created: &Millis| created.plus(EXPIRY) <= now;
                while waiting.front().is_some_and(expired) {
                    waiting.pop_front();
                }
                waiting.pop_front()
            });
            match oldest {
                Some(created) => self.run(created).await,
                None => sleep(IDLE).await,
            }
        }
    }

    async fn in_pages(self) {
        loop {
            let newest = self.with(|waiting| {
                let kept = waiting.len().saturating_sub(PAGE);
                waiting.split_off(kept)
            });
            let mut runs = JoinSet::new();
            for created in newest.into_iter().rev() {
                let shared = self.clone();
                runs.spawn(async move { shared.run(created).await });
                sleep(STAGGER).await;
            }
            runs.join_all().await;
            sleep(BETWEEN_PAGES).await;
        }
    }
}
