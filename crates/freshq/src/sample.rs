//! One look at a queue, and those before it.

use std::collections::VecDeque;
use std::time::Duration;

use lifo_queue::operate::{Find, FoundTask, Status};
use lifo_queue::schema;
use lifo_queue::store::{Candidate, Order, PageQuery};
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;

use crate::failure::Failure;
use crate::queue::Queue;

/// Looks that are remembered.
const REMEMBERED: usize = 200;

/// Tasks of the lists.
const LISTED: u16 = 8;

/// Running tasks that are read for their age at start.
const RUNNING: usize = 16;

/// Entries of the index read for the rates.
const RECENT: u16 = 1_000;

/// How far back the rates look.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// One look.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) status: Status,
    /// Tasks created within the window, by their status now: PENDING, TAKEN, SUCCESS, FAILURE.
    pub(crate) recent: [usize; 4],
    /// Whether the window holds more tasks than were read.
    pub(crate) more: bool,
    pub(crate) newest: Vec<Candidate>,
    pub(crate) oldest: Vec<Candidate>,
    /// The newest running tasks.
    pub(crate) running: Vec<FoundTask>,
    /// How old the running tasks were when they started; the middle one.
    pub(crate) start_age: Option<Duration>,
}

impl Sample {
    /// Tasks created per second in the window. At least, if the window holds more than were read.
    pub(crate) fn created_per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
        let created = self.recent.iter().sum::<usize>() as f64;
        created / WINDOW.as_secs_f64()
    }
}

/// The figures of one look.
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

/// The last looks.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) last: Option<Sample>,
    /// Oldest look first.
    pub(crate) figures: VecDeque<Figures>,
    /// Why the last look failed.
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

/// Looks at a queue.
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

/// When a running task started: it was last written when it was taken.
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
