//! `freshq errors`: groups tasks by the pattern of their last error.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use lifo_queue::operate::{Find, FoundTask, error_pattern};
use lifo_queue::schema;
use lifo_queue::task::TaskStatus;
use serde_json::{Value, json};

use super::VerbOnQueue;
use super::list::read_cost;
use crate::confirm::Prompt;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::{Report, columns};
use crate::time_format::{age, exact, parse_duration};

/// Statuses of the tasks to read. A succeeded task has no last error.
const STATUSES: [TaskStatus; 3] = [TaskStatus::Failure, TaskStatus::Pending, TaskStatus::Taken];

/// Groups failed, pending and running tasks by their last error, the largest group first. Numbers and
/// ids in errors are replaced: <n>, <hex>, <uuid>. --error of list, cancel and redrive accepts such
/// a pattern.
#[derive(Debug, Args)]
pub(crate) struct Errors {
    /// Maximum number of tasks to read per status, newest first
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_reads: u32,
    /// Only tasks newer than this, for example 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) newer_than: Option<Duration>,
}

#[async_trait]
impl VerbOnQueue for Errors {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let grouped = self.read(queue).await?;
        Ok(Report::done(grouped.text(), grouped.json()))
    }
}

impl Errors {
    /// Reads and groups the tasks.
    ///
    /// # Errors
    /// [`Failure`](crate::failure::Failure): the table could not be read.
    pub(crate) async fn read(&self, queue: &Queue) -> Result<Grouped> {
        let now = queue.clock.now();
        let mut grouped = Grouped {
            now,
            groups: Vec::new(),
            read: 0,
            pages: 0,
            is_complete: true,
        };
        let mut groups = BTreeMap::new();
        for status in STATUSES {
            let find = Find {
                created_from: self.newer_than.map(|time| now.minus(time)),
                ..Find::newest(status, self.max_reads as usize)
            };
            let found = queue.operator.find(&find).await?;
            grouped.read += found.items;
            grouped.pages += found.pages;
            grouped.is_complete &= found.next.is_none();
            for task in found.tasks {
                add(&mut groups, task, status);
            }
        }
        grouped.groups = groups.into_values().collect();
        let size = |group: &Group| std::cmp::Reverse(group.count());
        grouped.groups.sort_by_key(size);
        Ok(grouped)
    }
}

/// Adds a task to the group of its error. Ignores tasks without an error, except failed ones.
fn add(groups: &mut BTreeMap<String, Group>, task: FoundTask, status: TaskStatus) {
    let error = task.text(schema::LAST_ERROR);
    if error.is_none() && status != TaskStatus::Failure {
        return;
    }
    let pattern = error_pattern(error.unwrap_or_default());
    let group = groups.entry(pattern.clone()).or_insert_with(|| Group {
        pattern,
        counts: Vec::new(),
        newest: task.clone(),
    });
    match group.counts.iter_mut().find(|(there, _)| *there == status) {
        Some((_, count)) => *count += 1,
        None => group.counts.push((status, 1)),
    }
    if task.created > group.newest.created {
        group.newest = task;
    }
}

/// Tasks whose most recent error matches the same pattern.
#[derive(Debug)]
pub(crate) struct Group {
    /// The pattern of the errors; empty if no error was recorded.
    pub(crate) pattern: String,
    counts: Vec<(TaskStatus, usize)>,
    pub(crate) newest: FoundTask,
}

impl Group {
    pub(crate) fn count(&self) -> usize {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of tasks with this status.
    pub(crate) fn of(&self, status: TaskStatus) -> usize {
        let counts = self.counts.iter();
        let of = counts.filter(|(there, _)| *there == status);
        of.map(|(_, count)| count).sum()
    }

    /// Formats the number of tasks per status as text.
    pub(crate) fn statuses(&self) -> String {
        let counts = self.counts.iter();
        let counts = counts.map(|(status, count)| format!("{status} {count}"));
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// The groups, and how many tasks were read.
#[derive(Debug)]
pub(crate) struct Grouped {
    now: lifo_queue::time::Millis,
    /// The groups, largest first.
    pub(crate) groups: Vec<Group>,
    pub(crate) read: usize,
    pages: u32,
    /// Whether all tasks were read.
    pub(crate) is_complete: bool,
}

impl Grouped {
    fn text(&self) -> String {
        let head = ["TASKS", "NEWEST", "EXAMPLE", "ERROR"].map(str::to_owned);
        let rows = self.groups.iter().map(|group| {
            let error = match group.pattern.is_empty() {
                true => "no error was recorded".to_owned(),
                false => group.pattern.clone(),
            };
            [
                group.statuses(),
                age(group.newest.created, self.now),
                group.newest.id.to_string(),
                error,
            ]
        });
        let mut text = match self.groups.is_empty() {
            true => "no task has an error".to_owned(),
            false => columns(std::iter::once(head).chain(rows)),
        };
        text += &format!("\n{}", read_cost(self.read, self.pages));
        if !self.is_complete {
            text += "; older tasks were not read: raise --max-reads";
        }
        text
    }

    fn json(&self) -> Value {
        let group = |group: &Group| {
            let counts = group.counts.iter();
            let counts = counts.map(|(status, count)| (status.to_string(), json!(count)));
            json!({
                "pattern": group.pattern,
                "tasks": group.count(),
                "statuses": Value::Object(counts.collect()),
                "newest": { "taskId": group.newest.id, "created": exact(group.newest.created) },
                "example": group.newest.text(schema::LAST_ERROR),
            })
        };
        json!({
            "errors": self.groups.iter().map(group).collect::<Vec<_>>(),
            "read": { "tasks": self.read, "pages": self.pages },
            "complete": self.is_complete,
        })
    }
}
