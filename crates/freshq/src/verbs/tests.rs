//! Tests of the verbs on the in-memory store and tokio's paused clock.

mod changing;
mod creating;
mod finding;
mod groups;
mod queue;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::texts::{begins, has};
use simulator::topics::Topics;

use super::list::{Filter, StatusName};
use super::*;
use crate::account::Caller;
use crate::exit::Exit;
use crate::failure::Result;
use crate::function::Function;

const NOW: Millis = Millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Answers every prompt with `answer`, or fails if there is none. Records the prompts.
#[derive(Default)]
struct Answering {
    answer: Option<String>,
    asked: Vec<String>,
}

impl Prompt for Answering {
    fn answer(&mut self, question: &str, option: &'static str) -> Result<String> {
        self.asked.push(question.to_owned());
        let answer = self.answer.as_ref();
        let answer = answer.ok_or(Failure::NoTerminal(option))?;
        Ok(format!("{answer}\n"))
    }
}

struct World {
    store: Arc<MemoryStore>,
    topics: Arc<Topics>,
    clock: Arc<TokioClock>,
    prompt: Answering,
    creates: Option<Arc<dyn Function>>,
}

impl World {
    fn start() -> Self {
        Self {
            store: Arc::default(),
            topics: Arc::default(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
            prompt: Answering::default(),
            creates: None,
        }
    }

    /// Stores a task that was created `age` seconds ago.
    fn put(&self, id: &str, status: TaskStatus, age: u64) {
        let created = self.clock.now().minus(Duration::from_secs(age));
        let ttl = Ttl::Seconds(created.ceil_seconds().plus(24 * HOUR));
        let record = Record {
            status,
            attempts: 3,
            total_attempts: 3,
            ..Record::pending(created, ttl)
        };
        self.store.put(TaskId::from_stored(id), record);
    }

    fn task(&self, id: &str) -> Option<Record> {
        self.store.record(&TaskId::from_stored(id))
    }

    fn status(&self, id: &str) -> Option<TaskStatus> {
        self.task(id).map(|record| record.status)
    }

    /// Runs a verb on this world's store.
    async fn run(&mut self, verb: &impl VerbOnQueue) -> Result<Report> {
        self.run_on(self.store.clone(), verb).await
    }

    /// Returns the report of a verb that does not fail.
    async fn report(&mut self, verb: &impl VerbOnQueue) -> Report {
        self.run(verb).await.unwrap()
    }

    /// Runs a verb on a different store.
    async fn run_on(
        &mut self,
        store: Arc<dyn QueueStore>,
        verb: &impl VerbOnQueue,
    ) -> Result<Report> {
        let (topics, clock) = (self.topics.clone(), self.clock.clone());
        let (name, caller) = ("LifoQueue-dev".to_owned(), Caller::example());
        let mut queue = Queue::new(name, caller, store, topics, clock);
        queue.creates = self.creates.clone();
        verb.run(&queue, &mut self.prompt).await
    }

    /// Changes a task in the store.
    fn edit(&self, id: &str, change: impl FnOnce(&mut Record)) {
        let mut record = self.task(id).unwrap();
        change(&mut record);
        self.store.put(TaskId::from_stored(id), record);
    }

    /// Runs a verb that must succeed, and expects this first line.
    async fn done(&mut self, verb: &impl VerbOnQueue, line: &str) {
        self.expect(verb, line, Exit::Done).await;
    }

    /// Runs a verb and expects this first line and this exit code.
    async fn expect(&mut self, verb: &impl VerbOnQueue, line: &str, exit: Exit) {
        let report = self.run(verb).await.unwrap();
        let text = report.text;
        assert_eq!((text.lines().next(), report.exit), (Some(line), exit));
    }
}

fn list(status: StatusName) -> List {
    List {
        status,
        filter: Filter::default(),
        limit: 20,
        max_reads: 1_000,
        after: None,
    }
}

fn pause(time: Duration) -> Pause {
    Pause {
        time,
        reason: "maintenance".to_owned(),
        group: None,
        yes: false,
    }
}

fn ids(ids: &[&str]) -> Vec<TaskId> {
    ids.iter().copied().map(TaskId::from_stored).collect()
}
