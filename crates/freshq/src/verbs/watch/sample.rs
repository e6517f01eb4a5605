//! One look at a queue, and those before it.

use std::collections::VecDeque;
use std::time::Duration;

use lifo_queue::operate::{Find, Status};
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
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// One look.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) status: Status,
    /// Tasks created within the window, by their status now: PENDING, TAKEN, SUCCESS, FAILURE.
    pub(super) recent: [usize; 4],
    /// Whether the window holds more tasks than were read.
    pub(super) more: bool,
    pub(super) newest: Vec<Candidate>,
    pub(super) oldest: Vec<Candidate>,
    /// How old the running tasks were when they started; the middle one.
    pub(super) start_age: Option<Duration>,
}

/// The last looks.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) last: Option<Sample>,
    /// Pending tasks, oldest look first.
    pub(super) depths: VecDeque<u64>,
    /// Ages at start in milliseconds, oldest look first.
    pub(super) ages: VecDeque<u64>,
    /// Why the last look failed.
    pub(super) failure: Option<String>,
    looks: u32,
}

impl History {
    pub(super) fn add(&mut self, sample: Sample) {
        self.looks += 1;
        self.failure = None;
        remember(&mut self.depths, u64::from(sample.status.pending.count));
        if let Some(age) = sample.start_age {
            remember(
                &mut self.ages,
                u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
            );
        }
        self.last = Some(sample);
    }

    pub(super) fn failed(&mut self, why: String) {
        self.failure = Some(why);
    }

    pub(super) fn looks(&self) -> u32 {
        self.looks
    }
}

fn remember(values: &mut VecDeque<u64>, value: u64) {
    values.push_back(value);
    if values.len() > REMEMBERED {
        values.pop_front();
    }
}

/// Looks at a queue.
///
/// # Errors
/// [`Failure`]: the table could not be read.
pub(super) async fn take(queue: &Queue) -> Result<Sample, Failure> {
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
    Ok(Sample {
        status,
        recent,
        more,
        newest,
        oldest,
        start_age: start_age(queue).await?,
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

/// A running task was last written when it was taken.
async fn start_age(queue: &Queue) -> Result<Option<Duration>, Failure> {
    let find = Find {
        status: TaskStatus::Taken,
        created_from: None,
        after: None,
        error: None,
        limit: RUNNING,
        max_items: RUNNING,
    };
    let found = queue.operator.find(&find).await?;
    let ages = found.tasks.iter().filter_map(|task| {
        let started = Millis(task.number(schema::TASK_UPDATED)?);
        Some(started.since(task.created))
    });
    let mut ages: Vec<Duration> = ages.collect();
    ages.sort_unstable();
    Ok(ages.get(ages.len() / 2).copied())
}
