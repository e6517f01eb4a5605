//! A queue, a scripted runner, and a clock.

use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use conformance::{NOW, Queue, RETENTION};
use lifo_queue::control::{IdleTurns, OpenBreaker};
use lifo_queue::process::{
    BreakerSettings, FailedTurn, Invocation, ProcessSettings, Processor, TurnSummary,
};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::Record;
use lifo_queue::sweep::{SweepReport, Sweeper};
use lifo_queue::task::{Task, TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis};

/// The deployed defaults, except for settings that would make the tests slow. The circuit breaker
/// is off unless a test enables it.
pub(crate) static SETTINGS: LazyLock<ProcessSettings> = LazyLock::new(|| ProcessSettings {
    breaker: None,
    max_idle_turns: 3,
    retention: RETENTION,
    ..*simulator::deployed::PROCESS_TASKS
});

pub(crate) const BREAKER: BreakerSettings = BreakerSettings {
    former_pause_after: Duration::from_secs(1),
    max_returns: 500,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) type Script = Box<dyn Fn(&Task) -> (Duration, Outcome) + Send + Sync>;

/// A runner that follows a script and records the order of starts.
pub(crate) struct Scripted {
    pub(crate) script: Script,
    pub(crate) started: Mutex<Vec<String>>,
}

#[async_trait]
impl TaskRunner for Scripted {
    async fn run(&self, task: &Task) -> Outcome {
        self.started.lock().unwrap().push(task.task_id.to_string());
        let (duration, outcome) = (self.script)(task);
        tokio::time::sleep(duration).await;
        outcome
    }
}

pub(crate) const BUSY: Outcome = Outcome::Busy {
    retry_after: None,
    reason: String::new(),
};

pub(crate) fn busy_for(retry_after: Duration) -> Outcome {
    Outcome::Busy {
        retry_after: Some(retry_after),
        reason: "HTTP 429".to_owned(),
    }
}

pub(crate) fn retry() -> Outcome {
    Outcome::Retry {
        reason: "HTTP 500".to_owned(),
    }
}

pub(crate) fn rejecting() -> Outcome {
    Outcome::Rejecting {
        reason: "HTTP 403".to_owned(),
    }
}

pub(crate) fn unavailable() -> Outcome {
    Outcome::Unavailable {
        reason: "HTTP 502".to_owned(),
    }
}

pub(crate) struct World {
    queue: Queue,
    pub(crate) runner: Arc<Scripted>,
    pub(crate) settings: ProcessSettings,
}

impl Deref for World {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl World {
    pub(crate) fn new(
        script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static,
    ) -> Self {
        simulator::seeds::draw();
        let runner = Scripted {
            script: Box::new(script),
            started: Mutex::default(),
        };
        Self {
            queue: Queue::start(),
            runner: Arc::new(runner),
            settings: *SETTINGS,
        }
    }

    pub(crate) fn with_breaker(
        script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static,
    ) -> Self {
        let mut world = Self::new(script);
        world.settings.breaker = Some(BREAKER);
        world
    }

    /// A world with this number of tasks.
    pub(crate) async fn of(
        count: i64,
        script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static,
    ) -> Self {
        Self::new(script).with_tasks(count).await
    }

    /// A world with a circuit breaker and this number of tasks.
    pub(crate) async fn breaking(
        count: i64,
        script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static,
    ) -> Self {
        Self::with_breaker(script).with_tasks(count).await
    }

    /// Adds `count` tasks, whose ids continue the numbering of the existing tasks.
    pub(crate) async fn with_tasks(self, count: i64) -> Self {
        let before = self.store.records().len();
        for (number, n) in (before..).zip(0..count) {
            self.add(&format!("t{number:04}"), n - count).await;
        }
        self
    }

    /// Puts tasks that are newer than [`NOW`] and must not start: alternately a delayed task, and
    /// an expired task from a direct writer.
    pub(crate) fn put_resting(&self, count: i64) {
        for n in 0..count {
            let expired = Ttl::Milliseconds(Millis(NOW.0 - 1));
            let mut resting = Record::pending(Millis(NOW.0 + n), expired);
            if n % 2 == 0 {
                resting.ttl = Ttl::Missing;
                resting.not_before = Some(NOW.plus(3_000 * SECOND));
            }
            let id = TaskId::from_stored(format!("resting{n}"));
            self.store.put(id, resting);
        }
    }

    /// Marks the task as if two of its leases had expired, so that it must run alone.
    pub(crate) fn suspect(&self, id: &str) {
        let mut suspect = self.record(id);
        (suspect.attempts, suspect.total_attempts) = (2, 2);
        self.store.put(TaskId::from_stored(id), suspect);
    }

    pub(crate) async fn turn_on(
        &self,
        store: Arc<dyn QueueStore>,
    ) -> Result<TurnSummary, FailedTurn> {
        let deadline = self.clock.now().plus(120 * SECOND);
        self.turn_until(store, Some(deadline)).await
    }

    pub(crate) async fn turn_until(
        &self,
        store: Arc<dyn QueueStore>,
        deadline: Option<Millis>,
    ) -> Result<TurnSummary, FailedTurn> {
        let processor = Processor::new(
            store,
            self.topics.clone(),
            self.runner.clone(),
            self.clock.clone(),
            self.settings,
        );
        processor
            .turn(Invocation {
                message_id: "m1".into(),
                deadline,
            })
            .await
    }

    pub(crate) async fn turn(&self) -> TurnSummary {
        self.turn_on(self.store.clone()).await.unwrap()
    }

    pub(crate) fn started(&self) -> Vec<String> {
        self.runner.started.lock().unwrap().clone()
    }

    pub(crate) fn most_attempts(&self) -> u32 {
        let records = self.store.records();
        let attempts = records.iter().map(|(_, record)| record.attempts);
        attempts.max().unwrap_or(0)
    }

    pub(crate) async fn sweep(&self) -> SweepReport {
        let settings = simulator::deployed::sweep(&self.settings);
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let sweeper = Sweeper::new(store, self.waker(), clock, settings);
        sweeper.sweep("sweep").await.unwrap()
    }

    /// Replaces the task with a task in FAILURE.
    pub(crate) fn fail(&self, id: &str) {
        let mut failed = self.record(id);
        failed.status = TaskStatus::Failure;
        self.store.put(TaskId::from_stored(id), failed);
    }

    /// Writes the control item as a previous turn would.
    pub(crate) async fn leave(
        &self,
        breaker: Option<OpenBreaker>,
        overloaded_since: Option<Millis>,
    ) {
        let now = self.clock.now();
        let claim = conformance::claim("before", now);
        self.store.acquire(&claim, now).await.unwrap();
        let mut release = conformance::release(claim.owner, None, IdleTurns::Add);
        release.carried.breaker = breaker;
        release.carried.overloaded_since = overloaded_since;
        self.store.release(&release).await.unwrap();
    }
}

pub(crate) fn at_once() -> (Duration, Outcome) {
    (Duration::ZERO, Outcome::Success)
}

/// A run that succeeds after a second.
pub(crate) fn a_second(_: &Task) -> (Duration, Outcome) {
    (SECOND, Outcome::Success)
}
