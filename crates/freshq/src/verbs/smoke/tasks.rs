//! The test tasks: their creation, the wait until they start and end, and their deletion.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use lifo_queue::store::{Cancelled, Order, PageQuery, Seen, StoreError};
use lifo_queue::task::{TaskId, TaskStatus};
use lifo_queue::time::Millis;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::checks::Outcome::{self, Failed, NotShown, Ok as Shown};
use super::states::{Starts, State, ended};
use crate::deployed::Stack;
use crate::failure::Result;
use crate::function::Function;
use crate::queue::Queue;
use crate::time_format::tenths;

/// Number of single tasks. The sweep runs once per minute, so it can start at most one of them.
const SINGLES: usize = 3;

/// Maximum time from the creation of a single task to its start, less than the sweep interval.
const WAKE_UP: Duration = Duration::from_secs(20);

/// Maximum time for which a single task waits for an idle queue.
const IDLE: Duration = Duration::from_secs(10);

/// Number of tasks in the burst: four times the concurrency, at least and at most this many.
const BURST: (usize, usize) = (10, 100);

/// Time from the creation of the burst until all of its tasks are due.
const DELAY: Duration = Duration::from_secs(5);

/// Maximum time until all test tasks have ended.
const LONGEST: Duration = Duration::from_secs(300);

/// Lifetime of a test task that does not start, even if this process is killed.
const TTL_SECONDS: u64 = 600;

/// Time after which the order of the starts counts. A processor that is active when the burst becomes
/// due may take tasks from a page that it read up to 100 ms before.
const GRACE: Duration = Duration::from_millis(300);

const POLL: Duration = Duration::from_millis(100);

/// Interval between the wake-ups of a queue that starts no due task.
const WAKE_EVERY: Duration = Duration::from_secs(5);

/// Maximum time until the test tasks are deleted, and the interval between the attempts.
const DELETION: Duration = Duration::from_secs(60);
const DELETE_EVERY: Duration = Duration::from_secs(1);

const AT_ONCE: usize = 16;

pub(super) struct TestTasks<'a> {
    queue: &'a Queue,
    creates: &'a dyn Function,
    payload: &'a RawValue,
    /// Maximum number of tasks that run at the same time.
    pub(super) slots: usize,
    is_newest_first: bool,
    /// The burst, newest first, then the single tasks.
    tasks: Vec<TaskId>,
    /// When the burst becomes due.
    due: Millis,
}

/// A task, as create-tasks expects it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Description<'a> {
    task_id: &'a TaskId,
    payload: &'a RawValue,
    ttl_seconds: u64,
    task_created: i64,
    delay_seconds: u64,
}

impl<'a> TestTasks<'a> {
    pub(super) fn new(
        queue: &'a Queue,
        creates: &'a dyn Function,
        payload: &'a RawValue,
        stack: &Stack,
    ) -> Self {
        let slots = stack.concurrency().unwrap_or(1);
        let (run, burst) = (Uuid::new_v4(), (4 * slots).clamp(BURST.0, BURST.1));
        let id = |n| TaskId::from_stored(format!("freshq-smoke-{run}-{n}"));
        Self {
            queue,
            creates,
            payload,
            slots,
            is_newest_first: stack.is_newest_first(),
            tasks: (0..burst + SINGLES).map(id).collect(),
            due: queue.clock.now(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.tasks.len()
    }

    fn burst(&self) -> usize {
        self.count() - SINGLES
    }

    /// Creates tasks, each a second older than the one before, that become due `delay` after now.
    async fn create(&self, tasks: &[TaskId], delay: Duration) -> Result<Outcome> {
        let began = self.queue.clock.now();
        let tasks = tasks.iter().zip(0..).map(|(task_id, older)| Description {
            task_id,
            payload: self.payload,
            ttl_seconds: TTL_SECONDS,
            task_created: began.minus(Duration::from_secs(older)).0,
            // Counts from `taskCreated`.
            delay_seconds: delay.as_secs() + older,
        });
        let tasks: Vec<_> = tasks.collect();
        let event = serde_json::to_string(&tasks).unwrap_or_default();
        let event = format!("{{\"tasks\":{event}}}");
        let response = self.creates.send(&event).await?;
        let took = self.queue.clock.now().since(began).as_millis();
        Ok(match response["failed"][0]["error"].as_str() {
            None => Shown(format!(
                "{} tasks by create-tasks in {took} ms",
                tasks.len()
            )),
            Some(error) => Failed(format!("create-tasks rejected a task: {error}")),
        })
    }

    async fn states(&self, tasks: &[TaskId]) -> Result<Vec<State>> {
        let reads = tasks.iter().map(|task| self.queue.store.attributes(task));
        let reads: Vec<_> = reads.collect();
        let states = stream::iter(reads).buffered(AT_ONCE).map_ok(State::of);
        Ok(states.try_collect().await?)
    }

    /// Polls until `done`. Returns the time that this took; `None` if it took longer than `longest`.
    async fn poll<F: Future<Output = Result<bool>>>(
        &self,
        longest: Duration,
        done: impl Fn() -> F,
    ) -> Result<Option<Duration>> {
        let began = self.queue.clock.now();
        loop {
            let is_done = done().await?;
            let took = self.queue.clock.now().since(began);
            if is_done || took > longest {
                return Ok(is_done.then_some(took));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn is_idle(&self) -> Result<bool> {
        let control = self.queue.store.control().await?;
        Ok(control.live_lease(self.queue.clock.now()).is_none())
    }

    async fn is_started(&self, task: &[TaskId]) -> Result<bool> {
        Ok(self.states(task).await? != [State::Pending])
    }

    async fn is_listed(&self, task: &TaskId) -> Result<bool> {
        let query = PageQuery {
            status: TaskStatus::Pending.into(),
            order: Order::NewestFirst,
            created_from: None,
            after: None,
            limit: 1_000,
            now: self.queue.clock.now(),
        };
        let page = self.queue.store.pending_page(&query).await?;
        Ok(page.candidates.iter().any(|there| there.id == *task))
    }

    /// Creates single tasks, each in an idle queue if possible, and measures the time until each starts.
    pub(super) async fn wake_up(&self) -> Result<Outcome> {
        let (mut slowest, mut idle) = (Duration::ZERO, 0);
        for task in self.tasks[self.burst()..].chunks(1) {
            let is_idle = self.poll(IDLE, || self.is_idle());
            idle += usize::from(is_idle.await?.is_some());
            if let rejected @ Failed(_) = self.create(task, Duration::ZERO).await? {
                return Ok(rejected);
            }
            let Some(took) = self.poll(WAKE_UP, || self.is_started(task)).await? else {
                let limit = tenths(WAKE_UP);
                return Ok(Failed(format!(
                    "a task did not start within {limit}; freshq status says why"
                )));
            };
            slowest = slowest.max(took);
        }
        let text = format!(
            "{SINGLES} single tasks, each started within {}, {idle} in an idle queue",
            tenths(slowest)
        );
        Ok(if idle > 0 {
            Shown(text)
        } else {
            NotShown(text)
        })
    }

    /// Creates tasks of distinct ages, all of which become due at the same time.
    pub(super) async fn create_burst(&mut self) -> Result<Outcome> {
        self.due = self.queue.clock.now().plus(DELAY);
        self.create(&self.tasks[..self.burst()], DELAY).await
    }

    /// Measures the time until the index lists the newest task of the burst.
    pub(super) async fn index(&self) -> Result<Outcome> {
        let lag = self.poll(DELAY, || self.is_listed(&self.tasks[0]));
        Ok(match lag.await? {
            Some(lag) => Shown(format!(
                "lists the newest task after {} ms",
                lag.as_millis()
            )),
            None => Failed(format!(
                "does not list the newest task after {}",
                tenths(DELAY)
            )),
        })
    }

    /// Waits until all test tasks have ended. Returns the order of the burst's starts, and the ends.
    pub(super) async fn settle(&self) -> Result<(Outcome, Outcome)> {
        let (clock, burst) = (&self.queue.clock, self.burst());
        let mut states = self.states(&self.tasks).await?;
        let mut starts = Starts::new(&states[..burst]);
        tokio::time::sleep(self.due.since(clock.now())).await;
        let (began, mut woken) = (clock.now(), None);
        while states.iter().any(|state| !matches!(state, State::Ended(_))) {
            let now = clock.now();
            if now.since(began) > LONGEST {
                break;
            }
            // At the end of a delay, only an active processor or the sweep starts tasks.
            let is_due = woken.is_none_or(|at| now.since(at) >= WAKE_EVERY);
            if is_due && states[..burst].iter().all(|state| *state == State::Pending) {
                self.queue.operator.wake().await?;
                woken = Some(now);
            }
            let next = self.states(&self.tasks).await?;
            if now.since(began) >= GRACE {
                starts.note(&states[..burst], &next[..burst]);
            }
            states = next;
            tokio::time::sleep(POLL).await;
        }
        let order = match self.is_newest_first {
            true => starts.outcome(self.slots),
            false => NotShown("this queue starts the oldest key first".to_owned()),
        };
        Ok((order, ended(&states, clock.now().since(began))))
    }

    /// Deletes the test tasks, those that are running after their end.
    pub(super) async fn delete(&mut self) -> Result<Outcome> {
        let end = self.queue.clock.now().plus(DELETION);
        loop {
            let purge = async |task: TaskId| {
                let purged = self.queue.store.purge(&task, &Seen::Any).await?;
                Ok::<_, StoreError>(matches!(purged, Cancelled::Is(_)).then_some(task))
            };
            let deletes = stream::iter(self.tasks.clone()).map(purge);
            let left: Vec<_> = deletes.buffered(AT_ONCE).try_collect().await?;
            self.tasks = left.into_iter().flatten().collect();
            match self.tasks.len() {
                0 => return Ok(Shown("no test task is left".to_owned())),
                left if self.queue.clock.now() > end => {
                    let text = format!("running test tasks: {left}; DynamoDB deletes them later");
                    return Ok(Failed(text));
                }
                _ => tokio::time::sleep(DELETE_EVERY).await,
            }
        }
    }
}
