//! `freshq list`: lists tasks with a given status, newest first.

use std::cmp::Reverse;
use std::time::Duration;

use async_trait::async_trait;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use lifo_queue::control::{Control, GroupStates};
use lifo_queue::operate::{Find, Found, FoundTask};
use lifo_queue::schema;
use lifo_queue::store::{Cursor, Order};
use lifo_queue::task::{GroupName, TaskStatus};
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use super::{VerbOnQueue, group_name};
use crate::confirm::Prompt;
use crate::failure::{Failure, Result};
use crate::queue::Queue;
use crate::report::{Report, columns};
use crate::sample;
use crate::time_format::{age, exact, parse_duration, relative, rough};

/// Interval at which the spinner of a long read advances.
const TICK: Duration = Duration::from_millis(100);

/// Number of tasks to read between two progress updates.
const BATCH: usize = 500;

/// Maximum number of characters of an error in the table.
const ERROR_WIDTH: usize = 60;

/// Maximum number of characters of a payload in the table.
const PAYLOAD_WIDTH: usize = 80;

/// Lists tasks of a status, newest first. Reads each task, so it costs one read unit per
/// 4 KB of a task, and prints how much it read.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The status; any lists the tasks of all statuses
    #[arg(long, value_enum, default_value_t = StatusName::Pending)]
    pub(crate) status: StatusName,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Maximum number of tasks to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Maximum number of tasks to read; --after lists the rest
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_reads: u32,
    /// Continues after this place, which an earlier list printed
    #[arg(long, value_name = "PLACE", conflicts_with = "older_than")]
    pub(crate) after: Option<Cursor>,
}

/// Which tasks of a status.
#[derive(Debug, Default, Args)]
pub(crate) struct Filter {
    /// Only tasks of this group, in a queue with groups
    #[arg(long, value_parser = group_name)]
    pub(crate) group: Option<GroupName>,
    /// Only tasks whose last error contains this text or matches a pattern from freshq errors
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) error: Option<String>,
    /// Only tasks whose payload, as JSON, contains this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) payload: Option<String>,
    /// Only tasks older than this, for example 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// Only tasks newer than this, for example 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) newer_than: Option<Duration>,
}

/// A status on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusName {
    Pending,
    Taken,
    Success,
    Failure,
    Any,
}

impl StatusName {
    /// Returns the statuses with this name.
    pub(crate) fn statuses(self) -> Vec<TaskStatus> {
        match self {
            Self::Pending => vec![TaskStatus::Pending],
            Self::Taken => vec![TaskStatus::Taken],
            Self::Success => vec![TaskStatus::Success],
            Self::Failure => vec![TaskStatus::Failure],
            Self::Any => TaskStatus::ALL.to_vec(),
        }
    }
}

impl Filter {
    /// Creates the query for tasks with the given status. It starts after `after`, or else at
    /// `older_than`, or else at the newest task.
    pub(super) fn find(&self, status: TaskStatus, after: Option<Cursor>, now: Millis) -> Find {
        let oldest = |time| Cursor::older_than(now.minus(time));
        Find {
            group: self.group.clone(),
            payload: self.payload.clone(),
            status,
            order: Order::NewestFirst,
            created_from: self.newer_than.map(|time| now.minus(time)),
            after: after.or(self.older_than.map(oldest)),
            error: self.error.clone(),
            limit: usize::MAX,
            max_items: usize::MAX,
        }
    }

    /// Returns the query for tasks with the given status.
    ///
    /// # Errors
    /// [`Failure::Input`]: no task can match, because `older_than` is not shorter than `newer_than`.
    pub(super) fn checked(&self, status: TaskStatus, now: Millis) -> Result<Find> {
        match (self.older_than, self.newer_than) {
            (Some(older), Some(newer)) if older >= newer => Err(Failure::input(
                "--older-than",
                "it must be shorter than --newer-than",
            )),
            _ => Ok(self.find(status, None, now)),
        }
    }
}

#[async_trait]
impl VerbOnQueue for List {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let now = queue.clock.now();
        if self.status == StatusName::Any && self.after.is_some() {
            let fault = "it needs one --status other than any";
            return Err(Failure::input("--after", fault));
        }
        let progress = ProgressBar::new_spinner();
        progress.enable_steady_tick(TICK);
        let mut all = Found::default();
        for status in self.status.statuses() {
            let checked = self.filter.checked(status, now)?;
            let mut find = Find {
                after: self.after.clone().or(checked.after),
                ..checked
            };
            let (mut left, mut reads) = (self.limit as usize, self.max_reads as usize);
            loop {
                progress.set_message(format!("{} tasks read", all.items));
                find.limit = left.min(BATCH);
                find.max_items = reads.min(BATCH);
                let found = queue.operator.find(&find).await?;
                left -= found.tasks.len();
                reads -= found.items;
                // A partial batch means that the search reached the end of the index or its limit.
                let is_full = found.tasks.len() == find.limit || found.items == find.max_items;
                all.tasks.extend(found.tasks);
                all.pages += found.pages;
                all.items += found.items;
                find.after = found.next;
                if find.after.is_none() || !is_full || left.min(reads) == 0 {
                    break;
                }
            }
            all.next = all.next.or(find.after);
        }
        progress.finish_and_clear();
        all.tasks.sort_by_key(|task| Reverse(task.created));
        all.tasks.truncate(self.limit as usize);
        let listed = Listed {
            now,
            control: queue.store.control().await?,
            groups: queue.store.groups().await?,
            found: all,
            status: self.status,
        };
        Ok(Report::done(listed.text(), listed.json()))
    }
}

/// The tasks that were found.
#[derive(Debug)]
struct Listed {
    now: Millis,
    control: Control,
    groups: GroupStates,
    found: Found,
    /// The status that was searched.
    status: StatusName,
}

impl Listed {
    fn is_any(&self) -> bool {
        self.status == StatusName::Any
    }

    fn row(&self, task: &FoundTask) -> [String; 7] {
        let error = task.text(schema::LAST_ERROR).unwrap_or_default();
        let attempts = task.number(schema::ATTEMPTS).unwrap_or(0);
        [
            task.id.to_string(),
            task.text(schema::TASK_STATUS)
                .unwrap_or_default()
                .to_owned(),
            age(task.created, self.now),
            attempts.to_string(),
            self.next(task),
            shortened(error, ERROR_WIDTH),
            payload_preview(task, PAYLOAD_WIDTH),
        ]
    }

    /// Returns the time at which a due task in the group can start, as text.
    fn due(&self, group: &str) -> String {
        let paused = self.control.paused_until.filter(|at| *at > self.now);
        match (paused, self.groups.closed_until(group, self.now)) {
            (Some(at), _) => format!("queue resumes {}", relative(at, self.now)),
            (None, Some(at)) => format!("group opens {}", relative(at, self.now)),
            (None, None) if self.control.is_breaker_open(self.now) => {
                "may start as a probe".to_owned()
            }
            (None, None) => "due".to_owned(),
        }
    }

    /// Describes the task's next step.
    fn next(&self, task: &FoundTask) -> String {
        let moment = |attribute| task.number(attribute).map(Millis);
        match task.text(schema::TASK_STATUS) {
            Some("PENDING") => match moment(schema::NOT_BEFORE).filter(|at| *at > self.now) {
                Some(at) => format!("may start {}", relative(at, self.now)),
                None => self.due(task.id.group()),
            },
            Some("TAKEN") => run(task, self.now),
            _ => "settled".to_owned(),
        }
    }

    fn text(&self) -> String {
        let head = [
            "TASK",
            "STATUS",
            "AGE",
            "ATTEMPTS",
            "NEXT",
            "LAST ERROR",
            "PAYLOAD",
        ];
        let head = head.map(str::to_owned);
        let rows = self.found.tasks.iter().map(|task| self.row(task));
        let mut text = match self.found.tasks.len() {
            0 => match self.status.statuses()[..] {
                [status] if self.found.items == 0 => {
                    format!("no task is {status}; --status any lists the tasks of all statuses")
                }
                _ => "no task that was read matches".to_owned(),
            },
            _ => columns(std::iter::once(head).chain(rows)),
        };
        text += &format!("\n{}", read_cost(self.found.items, self.found.pages));
        if self.is_any() && self.found.next.is_some() {
            text += "; not all were read: raise --limit, or list one status";
        } else if let Some(next) = &self.found.next {
            text += &format!("; not all were read: continue with --after {next}");
        }
        text
    }

    fn json(&self) -> Value {
        let tasks = self.found.tasks.iter().map(|task| {
            json!({
                "taskId": task.id,
                "status": task.text(schema::TASK_STATUS),
                "created": exact(task.created),
                "ageMs": self.now.since(task.created).as_millis(),
                "attempts": task.number(schema::ATTEMPTS).unwrap_or(0),
                "notBefore": task.number(schema::NOT_BEFORE).map(|at| exact(Millis(at))),
                "leaseUntil": task.number(schema::LEASE_UNTIL).map(|at| exact(Millis(at))),
                "lastError": task.text(schema::LAST_ERROR),
                "payload": task.attributes.get(schema::PAYLOAD),
            })
        });
        json!({
            "tasks": tasks.collect::<Vec<_>>(),
            "read": { "tasks": self.found.items, "pages": self.found.pages },
            "after": self.found.next.as_ref().filter(|_| !self.is_any()).map(ToString::to_string),
        })
    }
}

/// Describes how long a TAKEN task has been running and when its lease ends.
pub(crate) fn run(task: &FoundTask, now: Millis) -> String {
    let lease = task.number(schema::LEASE_UNTIL).map(Millis);
    let Some(until) = lease.filter(|until| *until > now) else {
        return "lease expired".to_owned();
    };
    let runs = sample::started(task);
    let runs = runs.map(|at| format!("running for {}, ", rough(now.since(at))));
    let ends = relative(until, now);
    format!("{}lease ends {ends}", runs.unwrap_or_default())
}

/// Describes how much was read. Each task costs one read unit per 4 KB.
pub(super) fn read_cost(tasks: usize, pages: u32) -> String {
    format!("tasks read: {tasks}; pages of the index: {pages}")
}

/// Returns the start of the payload as JSON, without control characters; empty without a payload.
pub(crate) fn payload_preview(task: &FoundTask, width: usize) -> String {
    let payload = task.attributes.get(schema::PAYLOAD);
    payload.map_or_else(String::new, |payload| {
        shortened(&payload.to_string(), width)
    })
}

fn shortened(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
