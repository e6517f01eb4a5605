//! A sample of a queue's state, and the figures of earlier samples.

mod created;

use std::collections::VecDeque;
use std::time::Duration;

use lifo_queue::observed;
use lifo_queue::operate::{Find, FoundTask, Status};
use lifo_queue::schema;
use lifo_queue::store::{Candidate, Order, PageQuery};
use lifo_queue::task::TaskStatus;
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::{Value, json};

use self::created::created;
pub(crate) use self::created::{Created, LATE, Late};
use crate::failure::Result;
use crate::overrides::Unusual;
use crate::queue::Queue;
use crate::time_format::{exact, tenths};

/// Maximum number of samples whose figures are kept.
const REMEMBERED: usize = 200;

/// Maximum length of the lists of the newest and of the oldest pending tasks.
const LISTED: usize = 8;

/// Maximum number of running tasks, and of the newest pending tasks, to read.
const READ: usize = 16;

/// Maximum number of failed tasks to read.
const FAILED: usize = 4;

/// Maximum number of index entries to read for the rates, per status.
const RECENT: u16 = 1_000;

/// Maximum time before an expiry at which the expiry is shown.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Length of the period before a sample. Tasks created in this period count towards the rates.
pub(crate) const WINDOW: Duration = observed::WINDOW;

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) status: Status,
    pub(crate) tasks: Tasks,
    /// The newest failed tasks.
    pub(crate) failed: Vec<FoundTask>,
    /// Median age of the running tasks when they started; `None` if none was read.
    pub(crate) start_age: Option<Duration>,
    pub(crate) groups: Unusual,
}

/// The tasks that explain the state of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) created: Created,
    /// Time at which the first of the newest pending tasks can start; `None` if one can start now
    /// or none is pending.
    pub(crate) next_start: Option<Millis>,
    /// The newest running tasks.
    pub(crate) running: Vec<FoundTask>,
    /// The newest pending tasks, with their payloads.
    pub(crate) recent: Vec<FoundTask>,
    pub(crate) oldest: Vec<FoundTask>,
}

impl Tasks {
    pub(crate) async fn read(queue: &Queue, status: &Status) -> Result<Self> {
        let now = status.now;
        let recent = found(queue, TaskStatus::Pending, READ).await?;
        let oldest = Find {
            order: Order::OldestFirst,
            // Skip expired tasks: DynamoDB deletes them late, and they would fill the page.
            created_from: status.oldest_pending,
            ..Find::newest(TaskStatus::Pending, LISTED)
        };
        let is_due = |task: &FoundTask| not_before(task).is_none_or(|at| at <= now);
        Ok(Self {
            created: created(queue, now).await?,
            next_start: match recent.iter().any(is_due) {
                true => None,
                false => next_start(queue, now).await?,
            },
            running: found(queue, TaskStatus::Taken, READ).await?,
            recent,
            oldest: queue.operator.find(&oldest).await?.tasks,
        })
    }

    /// Returns the expiry of the oldest pending task; `None` if it is more than a day from now.
    pub(crate) fn first_expiry(&self, now: Millis) -> Option<Millis> {
        let ttl = self.oldest.first()?.number(schema::TTL)?;
        Some(EpochSeconds(ttl).millis()).filter(|at| at.since(now) < DAY)
    }
}

/// Returns the earliest time at which a pending task can start; `None` for any time.
pub(crate) fn not_before(task: &FoundTask) -> Option<Millis> {
    task.number(schema::NOT_BEFORE).map(Millis)
}

/// Returns the time from a task's creation to its earliest start, if the task is late.
pub(crate) fn delay(task: &FoundTask) -> Option<Duration> {
    let delay = not_before(task)?.since(task.created);
    (delay >= LATE).then_some(delay)
}

impl Sample {
    /// Returns the newest pending tasks.
    pub(crate) fn newest(&self) -> &[FoundTask] {
        let recent = &self.tasks.recent;
        &recent[..recent.len().min(LISTED)]
    }

    /// Returns how many tasks succeeded and how many failed per second in the last minute.
    pub(crate) fn ended_per_second(&self) -> (f64, f64) {
        let Status { control, now, .. } = &self.status;
        control.observed.ended.per_second(*now)
    }

    /// Returns the median duration of the last runs; `None` if no processor reported any.
    pub(crate) fn run_time(&self) -> Option<Duration> {
        let median = self.status.control.observed.median_run_ms;
        median.map(Duration::from_millis)
    }

    /// Formats the figures as JSON.
    pub(crate) fn json(&self) -> Value {
        let Status { control, now, .. } = &self.status;
        let [pending, taken, success, failure] = self.tasks.created.by_status;
        let (succeeded, failed) = control.observed.ended.within(*now);
        let ids = |tasks: &[FoundTask]| {
            let ids = tasks.iter().map(|task| task.id.to_string());
            ids.collect::<Vec<_>>()
        };
        json!({
            "now": exact(*now),
            "pending": self.status.pending,
            "taken": self.status.taken,
            "failed": self.status.failed,
            "paused": control.is_paused(*now),
            "limited": control.limit(*now).is_some(),
            "breakerOpen": control.is_breaker_open(*now),
            "processorActive": control.live_lease(*now).is_some(),
            "lastMinute": {
                "created": self.tasks.created.count,
                "createdIsExact": !self.tasks.created.more,
                "createdByStatus": {
                    "PENDING": pending, "TAKEN": taken, "SUCCESS": success, "FAILURE": failure,
                },
                "succeeded": succeeded,
                "failed": failed,
            },
            "medianRunMs": control.observed.median_run_ms,
            "longestRunMs": control.observed.longest_run.map(|run| run.ms),
            "nextStart": self.tasks.next_start.map(exact),
            "startAgeMs": self.start_age.map(|age| age.as_millis()),
            "newestPending": ids(self.newest()),
            "oldestPending": ids(&self.tasks.oldest),
            "newestFailed": ids(&self.failed),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) at: Millis,
    pub(crate) pending: u32,
    /// Number of tasks created per second in the window.
    pub(crate) created_per_second: f64,
    /// Number of succeeded tasks and number of failed tasks, per second in the last minute.
    pub(crate) ended_per_second: (f64, f64),
    pub(crate) run_time: Option<Duration>,
    pub(crate) start_age: Option<Duration>,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) last: Option<Sample>,
    /// Figures of the samples, oldest first.
    pub(crate) figures: VecDeque<Figures>,
    /// The reason why the last sample failed; `None` if it succeeded.
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
            created_per_second: sample.tasks.created.per_second(),
            ended_per_second: sample.ended_per_second(),
            run_time: sample.run_time(),
            start_age: sample.start_age,
        });
        if self.figures.len() > REMEMBERED {
            self.figures.pop_front();
        }
        self.last = Some(sample);
    }

    /// Formats the median age of the running tasks when they started. If no task is running, uses
    /// the last sample with running tasks.
    pub(crate) fn start_age_text(&self) -> String {
        let mut ages = self.figures.iter().rev().map(|look| look.start_age);
        match (ages.next().flatten(), ages.flatten().next()) {
            (Some(age), _) => tenths(age),
            (None, Some(age)) => format!("last {}", tenths(age)),
            (None, None) => "not measured yet".to_owned(),
        }
    }

    /// Takes a sample, or keeps the reason why it failed.
    pub(crate) async fn take(&mut self, queue: &Queue) {
        match take(queue).await {
            Ok(sample) => self.add(sample),
            Err(failure) => self.failure = Some(failure.line()),
        }
    }

    pub(crate) fn looks(&self) -> u32 {
        self.looks
    }
}

/// Takes a sample of a queue.
pub(crate) async fn take(queue: &Queue) -> Result<Sample> {
    let status = queue.operator.glance().await?;
    let tasks = Tasks::read(queue, &status).await?;
    Ok(Sample {
        start_age: start_age(&tasks.running),
        groups: Unusual::of(&queue.store.groups().await?, status.now),
        status,
        tasks,
        failed: found(queue, TaskStatus::Failure, FAILED).await?,
    })
}

async fn next_start(queue: &Queue, now: Millis) -> Result<Option<Millis>> {
    let (pending, order) = (TaskStatus::Pending, Order::NewestFirst);
    let (tasks, _) = page(queue, pending, order, None, RECENT, now).await?;
    let starts = tasks.iter().map(|task| task.not_before.unwrap_or(now));
    Ok(starts.min().filter(|at| *at > now))
}

async fn page(
    queue: &Queue,
    status: TaskStatus,
    order: Order,
    created_from: Option<Millis>,
    limit: u16,
    now: Millis,
) -> Result<(Vec<Candidate>, bool)> {
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

async fn found(queue: &Queue, status: TaskStatus, limit: usize) -> Result<Vec<FoundTask>> {
    let find = Find::newest(status, limit);
    Ok(queue.operator.find(&find).await?.tasks)
}

/// Returns the start of a running task, which is the time of its last write and usually of the
/// take. If a newer state of its key is written during the run, that write is the last one.
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
