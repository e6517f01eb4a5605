//! Agents and calls, matched by several at once: our way and the published sample's, in the same
//! run, on the same agents and calls, with the same latency.
//!
//! The embedded database carries out one request after the other; that transactions meet, and how
//! long requests take, is [`local_cloud::conflicts`]' part. Every run has a server of its own.

mod crowd;
mod ours;
mod peek;
mod published;
mod table;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use futures::future::try_join_all;
use local_cloud::conflicts::{Conflicts, Figures, Latency};
use local_cloud::dynamodb::{AGENT_TABLE, client, create_agent_table};

use self::crowd::{Crowd, Person, Wish};
use self::ours::Ours;
use self::published::Published;
use crate::process::Server;
use crate::{Arguments, Error};

/// What DynamoDB takes from within its region, the network included.
const LATENCY: Latency = Latency {
    plain: Duration::from_millis(4),
    transaction: Duration::from_millis(8),
};

/// Matchers at once.
const MATCHERS: [usize; 4] = [1, 2, 4, 8];

/// Calls a matcher gets at once: the batch of `match-calls`.
const BATCH: usize = 10;

/// Whose way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ours,
    Published,
}

/// One process that enqueues agents or matches calls.
#[async_trait]
trait Worker: Send + Sync {
    /// Writes the agents, who wait nowhere yet.
    async fn register(&self, people: &[Person]) -> Result<(), Error>;

    /// An agent waits from now on.
    async fn enqueue(&self, person: &Person) -> Result<(), Error>;

    /// Matches a batch of calls one after the other, whatever it takes; how long each took.
    async fn match_batch(&self, wishes: &[Wish]) -> Result<Vec<Duration>, Error>;
}

impl Way {
    fn worker(self, client: Client) -> Box<dyn Worker> {
        match self {
            Self::Ours => Box::new(Ours::new(client)),
            Self::Published => Box::new(Published::new(client)),
        }
    }
}

/// One run.
struct Round {
    way: Way,
    matchers: usize,
    /// From the first call to the last answer.
    seconds: f64,
    /// How long each match took, in milliseconds, the shortest first.
    waits: Vec<f64>,
    /// What all enqueues called and consumed.
    enqueues: Figures,
    /// What all matches called and consumed.
    matches: Figures,
}

/// Runs everything and prints the tables.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut rounds = vec![];
    for run in 0..arguments.agent_runs.max(1) {
        let crowd = Crowd::draw(arguments.agents, arguments.calls, run);
        for matchers in MATCHERS {
            // By turns: this machine may be busy otherwise.
            for way in [Way::Ours, Way::Published] {
                let server = Server::start()?;
                let round = round(&server.address, way, matchers, &crowd);
                rounds.push(runtime.block_on(round)?);
            }
        }
    }
    let server = Server::start()?;
    let looks = runtime.block_on(peek::measure(&server.address))?;
    table::print(arguments, &rounds, &looks);
    Ok(())
}

async fn round(address: &str, way: Way, matchers: usize, crowd: &Crowd) -> Result<Round, Error> {
    let address = address.parse()?;
    create_agent_table(&client(address), AGENT_TABLE).await?;
    // What is counted of an enqueue does not depend on how long it takes.
    let counting = Conflicts::new(Latency::default());
    let worker = way.worker(counting.client(address));
    worker.register(&crowd.people).await?;
    drop(counting.take_figures());
    for person in &crowd.people {
        worker.enqueue(person).await?;
    }
    let enqueues = counting.take_figures();

    let conflicts = Conflicts::new(LATENCY);
    let batches: VecDeque<_> = crowd.wishes.chunks(BATCH).collect();
    let batches = Mutex::new(batches);
    let work = || async {
        let worker = way.worker(conflicts.client(address));
        let mut waits = vec![];
        while let Some(batch) = next(&batches) {
            waits.extend(worker.match_batch(batch).await?);
        }
        Ok::<_, Error>(waits)
    };
    let started = Instant::now();
    let waits = try_join_all((0..matchers).map(|_| work())).await?;
    let seconds = started.elapsed().as_secs_f64();
    let mut waits: Vec<_> = waits
        .concat()
        .iter()
        .map(|wait| wait.as_secs_f64() * 1_000.0)
        .collect();
    waits.sort_by(f64::total_cmp);
    Ok(Round {
        way,
        matchers,
        seconds,
        waits,
        enqueues,
        matches: conflicts.take_figures(),
    })
}

fn next<'a>(batches: &Mutex<VecDeque<&'a [Wish]>>) -> Option<&'a [Wish]> {
    let mut batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
    batches.pop_front()
}
