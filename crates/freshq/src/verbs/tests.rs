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
use simulator::topics::Topics;

use super::*;
use crate::account::Caller;
use crate::exit::Exit;
use crate::function::Function;

const NOW: Millis = Millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Answers every prompt with `answer`, or fails without one; records the prompts.
#[derive(Default)]
struct Answering {
    answer: Option<String>,
    asked: Vec<String>,
}

impl Prompt for Answering {
    fn answer(&mut self, question: &str, option: &'static str) -> Result<String, Failure> {
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

    /// A task created `age` seconds ago.
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
    async fn run(&mut self, verb: &impl VerbOnQueue) -> Result<Report, Failure> {
        self.run_on(self.store.clone(), verb).await
    }

    /// Runs a verb on another store.
    async fn run_on(
        &mut self,
        store: Arc<dyn QueueStore>,
        verb: &impl VerbOnQueue,
    ) -> Result<Report, Failure> {
        let (topics, clock) = (self.topics.clone(), self.clock.clone());
        let (name, caller) = ("LifoQueue-dev".to_owned(), Caller::example());
        let mut queue = Queue::new(name, caller, store, topics, clock);
        queue.creates = self.creates.clone();
        verb.run(&queue, &mut self.prompt).await
    }

    /// Runs a verb, and expects its first line and its exit code.
    async fn expect(&mut self, verb: &impl VerbOnQueue, line: &str, exit: Exit) {
        let report = self.run(verb).await.unwrap();
        let text = report.text;
        assert_eq!((text.lines().next(), report.exit), (Some(line), exit));
    }
}

fn ids(ids: &[&str]) -> Vec<TaskId> {
    ids.iter().copied().map(TaskId::from_stored).collect()
}
