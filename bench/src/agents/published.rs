//! The method of the sample that AWS published, implemented again from its description. It reads
//! the versions of all queues in one transaction, then the whole queue. Its write transaction
//! depends on the versions of the agent's queues.
//!
//! The sample fails if its transaction is cancelled. Here, it retries until it succeeds, with the
//! pauses of a lane. As in a lane, all calls of a batch start concurrently.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

use agent_queue::matching::lane::pause;
use agent_queue::transaction::Key;
use futures::future::try_join_all;
use simulator::conflicts::Conflicts;
use simulator::sync::lock;
use tokio::time::Instant;

use super::BATCH;
use super::crowd::{Crowd, Person, Wish};
use super::figures::Figure;
use super::stage::{Conditions, Stage};
use crate::Error;

/// A queue: the agents with this language and gender.
type Queue = (&'static str, &'static str);

/// The table. An agent's number is its position in the order of arrival.
#[derive(Default)]
struct Table {
    queues: BTreeMap<Queue, BTreeSet<usize>>,
    versions: BTreeMap<Queue, u64>,
}

/// The sample with its agents queued.
struct Sample<'a> {
    conflicts: &'a Conflicts,
    people: &'a [Person],
    table: Mutex<Table>,
}

/// Matches all calls of the crowd. Returns the rate.
pub(super) async fn play(
    conditions: Conditions,
    matchers: usize,
    crowd: &Crowd,
) -> Result<Figure, Error> {
    let stage = Stage::set(conditions)?;
    let sample = Sample::new(&stage.conflicts, &crowd.people);
    let batches: Mutex<VecDeque<_>> = Mutex::new(crowd.wishes.chunks(BATCH).collect());
    let work = || async {
        loop {
            let Some(batch) = lock(&batches).pop_front() else {
                return Ok::<_, Error>(());
            };
            try_join_all(batch.iter().map(|wish| sample.match_call(*wish))).await?;
        }
    };
    let began = Instant::now();
    try_join_all((0..matchers).map(|_| work())).await?;
    Ok(Figure {
        rate: crowd.wishes.len() as f64 / began.elapsed().as_secs_f64(),
        ..Figure::default()
    })
}

impl<'a> Sample<'a> {
    fn new(conflicts: &'a Conflicts, people: &'a [Person]) -> Self {
        let mut table = Table::default();
        for (agent, person) in people.iter().enumerate() {
            for queue in queues(person) {
                table.queues.entry(queue).or_default().insert(agent);
                table.versions.insert(queue, 0);
            }
        }
        Self {
            conflicts,
            people,
            table: Mutex::new(table),
        }
    }

    /// Matches a call, and retries until it succeeds.
    async fn match_call(&self, wish: Wish) -> Result<(), Error> {
        let mut losses = 0;
        while !self.try_match(wish).await? {
            losses += 1;
            pause(losses).await;
        }
        Ok(())
    }

    /// Returns false if a transaction was cancelled.
    async fn try_match(&self, wish: Wish) -> Result<bool, Error> {
        let versions = lock(&self.table).versions.keys().map(version).collect();
        let read = async { lock(&self.table).versions.clone() };
        let read = self.conflicts.carry_out("TransactGetItems", versions, read);
        let Ok(seen) = read.await else {
            return Ok(false);
        };
        let queue = (wish.language, wish.gender);
        let first = async { lock(&self.table).queues.get(&queue)?.first().copied() };
        let first = self.conflicts.carry_out("Query", vec![], first).await;
        let Some(agent) = first.ok().flatten() else {
            return Err(format!("a call for {queue:?} found no agent").into());
        };
        let queues: Vec<Queue> = queues(&self.people[agent]).collect();
        let mut keys = vec![key("AllAgents", agent)];
        for queue in &queues {
            keys.extend([key(&format!("{queue:?}"), agent), version(queue)]);
        }
        let write = async {
            let mut table = lock(&self.table);
            let is_current = queues
                .iter()
                .all(|queue| table.versions[queue] == seen[queue]);
            for queue in queues.iter().filter(|_| is_current) {
                table.queues.entry(*queue).or_default().remove(&agent);
                *table.versions.entry(*queue).or_default() += 1;
            }
            is_current
        };
        let write = self.conflicts.carry_out("TransactWriteItems", keys, write);
        Ok(write.await.unwrap_or(false))
    }
}

/// The queues of an agent.
fn queues(person: &Person) -> impl Iterator<Item = Queue> {
    let gender = person.gender;
    person
        .languages
        .iter()
        .map(move |language| (*language, gender))
}

/// The key of the item with a queue's version.
fn version(queue: &Queue) -> Key {
    key("AllQueues", queue)
}

fn key(partition: &str, sort: impl std::fmt::Debug) -> Key {
    (partition.to_owned(), format!("{sort:?}"))
}
