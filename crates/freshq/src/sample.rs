//! A sample of a queue's state, and the figures of earlier samples.

use std::collections::VecDeque;
use std::time::Duration;

use lifo_queue::operate::{Find, FoundTask, Status};
use lifo_queue::schema;
use lifo_queue::store::{Candidate, Order, PageQuery};
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;

use crate::failure::Failure;
use crate::queue::Queue;

/// Maximum number of samples whose figures are kept.
const REMEMBERED: usize = 200;

/// Maximum number of tasks in the list of the newest pending tasks, and in that of the oldest.
const LISTED: u16 = 8;

/// Maximum number of running tasks that are read.
const RUNNING: usize = 16;

/// Maximum number of entries of the index that are read for the rates, per status.
const RECENT: u16 = 1_000;

/// The rates count tasks that were created within this time before the sample.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// The state of a queue at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) status: Status,
    /// Tasks created within the window, by their current status: PENDING, TAKEN, SUCCESS, FAILURE.
    pub(crate) recent: [usize; 4],
    /// Whether the window holds more tasks than were read.
    pub(crate) more: bool,
    pub(crate) newest: Vec<Candidate>,
    pub(crate) oldest: Vec<Candidate>,
    /// The newest running tasks.
    pub(crate) running: Vec<FoundTask>,
    /// Median age of the tasks in `running` when they started; `None` if no task runs.
    pub(crate) start_age: Option<Duration>,
}

impl Sample {
    /// Tasks created per second in the window; a lower bound if [`Sample::more`] is true.
    pub(crate) fn created_per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
        let created = self.recent.iter().sum::<usize>() as f64;
        created / WINDOW.as_secs_f64()
    }
}

/// The figures of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) at: Millis,
    /// Pending tasks.
    pub(crate) pending: u32,
    /// Tasks created per second in the window.
    pub(crate) created_per_second: f64,
    /// As [`Sample::start_age`].
    pub(crate) start_age: Option<Duration>,
}

/// The last sample, and the figures of the samples before it.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) last: Option<Sample>,
    /// Oldest sample first.
    pub(crate) figures: VecDeque<Figures>,
    /// Why the last sample failed; `None` if it succeeded.
    pub(crate) failure: Option<String>,
    looks: u32,
}

impl History {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.looks += 1;
        self.failure = None;
        self.figures.push_back(Figures {
            at: sample.status.now,
            pending: sample.status.pending.count,
            created_per_second: sample.created_per_second(),
            start_age: sample.start_age,
        });
        if self.figures.len() > REMEMBERED {
            self.figures.pop_front();
        }
        self.last = Some(sample);
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.failure = Some(why);
    }

    pub(crate) fn looks(&self) -> u32 {
        self.looks
    }
}

/// Takes a sample of a queue.
///
/// # Errors
/// [`Failure`]: the table could not be read.
pub(crate) async fn take(queue: &Queue) -> Result<Sample, Failure> {
    let status = queue.operator.glance().await?;
    let now = status.now;
    let mut recent = [0; 4];
    let mut more = false;
    for (count, status) in recent.iter_mut().zip(TaskStatus::ALL) {
        let from = Some(now.minus(WINDOW));
        let (tasks, rest) = page(queue, status, Order::NewestFirst, from, RECENT, now).await?;
        *count = tasks.len();
        more |= rest;
    }
    let pending = TaskStatus::Pending;
    let (newest, _) = page(queue, pending, Order::NewestFirst, None, LISTED, now).await?;
    let (oldest, _) = page(queue, pending, Order::OldestFirst, None, LISTED, now).await?;
    let running = running(queue).await?;
    Ok(Sample {
        start_age: start_age(&running),
        status,
        recent,
        more,
        newest,
        oldest,
        running,
    })
}

async fn page(
    queue: &Queue,
    status: TaskStatus,
    order: Order,
    created_from: Option<Millis>,
    limit: u16,
    now: Millis,
) -> Result<(Vec<Candidate>, bool), Failure> {
    let query = PageQuery {
        status: status.into(),
        order,
        created_from,
        after: None,
        limit,
        now,
    };
    let page = queue.store.pending_page(&query).await?;
    Ok((page.candidates, page.next.is_some()))
}

async fn running(queue: &Queue) -> Result<Vec<FoundTask>, Failure> {
    let find = Find {
        status: TaskStatus::Taken,
        created_from: None,
        after: None,
        error: None,
        limit: RUNNING,
        max_items: RUNNING,
    };
    Ok(queue.operator.find(&find).await?.tasks)
}

/// The start of a running task: the time of its last write, usually the take. A newer state of its
/// key that is written during the run is a later write.
pub(crate) fn started(task: &FoundTask) -> Option<Millis> {
    task.number(schema::TASK_UPDATED).map(Millis)
}

fn start_age(running: &[FoundTask]) -> Option<Duration> {
    let ages = running
        .iter()
        .filter_map(|task| Some(started(task)?.since(task.created)));
    let mut ages: Vec<Duration> = ages.collect();
    ages.sort_unstable();
    ages.get(ages.len() / 2).copied()
}
