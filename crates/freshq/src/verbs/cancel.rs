//! `freshq cancel`: deletes pending tasks.

use std::time::Duration;

use async_trait::async_trait;
use clap::{ArgGroup, Args};
use futures::{StreamExt, stream};
use indicatif::ProgressBar;
use lifo_queue::store::Cancelled;
use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::{Value, json};

use super::list::Filter;
use super::matches::Matches;
use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, task_id};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::{Declined, Report};
use crate::time_format::parse_duration;

/// Interval between two tries while a task is running.
const POLL: Duration = Duration::from_secs(1);

/// Maximum number of concurrent deletions.
const AT_ONCE: usize = 16;

/// Deletes pending tasks. Running and settled tasks are unchanged. Name the tasks, or choose them by
/// group, age, last error or payload.
#[derive(Debug, Default, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true)
    .args(["tasks", "group", "error", "payload", "older_than", "newer_than"]))]
pub(crate) struct Cancel {
    /// The pending tasks to delete
    #[arg(value_name = "TASK_ID", value_parser = task_id, conflicts_with_all = ["group", "error", "payload", "older_than", "newer_than"])]
    pub(crate) tasks: Vec<TaskId>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Waits up to this time for a running task to become pending, for example 3m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "tasks")]
    pub(crate) wait: Option<Duration>,
    /// Only lists the tasks that a filter would delete
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) dry_run: bool,
    /// Skips the confirmation of a filter
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) yes: bool,
}

#[async_trait]
impl VerbOnQueue for Cancel {
    async fn run(
        &self,
        queue: &Queue,
        prompt: &mut dyn Prompt,
    ) -> Result<Box<dyn Report>, Failure> {
        if !self.tasks.is_empty() {
            return Ok(Box::new(self.cancel_each(queue).await));
        }
        let find = self
            .filter
            .checked(TaskStatus::Pending, queue.clock.now())?;
        let matches = Matches::read(queue, find, "cancel").await?;
        if self.dry_run {
            return Ok(Box::new(matches));
        }
        let count = matches.tasks.len();
        if count > 0 && !self.yes {
            let place = queue.place().await;
            let question =
                format!("Delete {count} pending tasks of {place}? They cannot be restored.");
            if !prompt.confirms(&question, "--yes")? {
                return Ok(Box::new(Declined {
                    text: "nothing was cancelled",
                    json: json!({ "cancelled": 0, "declined": true }),
                }));
            }
        }
        Ok(Box::new(cancel_all(queue, matches.tasks).await?))
    }

    fn changes(&self) -> bool {
        !self.dry_run
    }
}

impl Cancel {
    async fn cancel_each(&self, queue: &Queue) -> TaskOutcomes {
        let mut report = TaskOutcomes::new("cancelled");
        for task in &self.tasks {
            let outcome = match report.has_failed() {
                true => Outcome::NotTried,
                false => match self.cancel(queue, task).await {
                    Ok(Cancelled::Done) => Outcome::Done,
                    Ok(Cancelled::Is(status)) => Outcome::Is(status),
                    Ok(Cancelled::NotFound) => Outcome::NotFound,
                    Err(failure) => Outcome::unknown(failure),
                },
            };
            report.note(task, outcome);
        }
        report
    }

    /// Cancels a task. With `--wait`, repeats it while the task is running.
    async fn cancel(&self, queue: &Queue, task: &TaskId) -> Result<Cancelled, Failure> {
        let end = queue.clock.now().plus(self.wait.unwrap_or_default());
        loop {
            let cancelled = queue.operator.cancel(task).await?;
            let is_running = cancelled == Cancelled::Is(TaskStatus::Taken);
            if !is_running || queue.clock.now() >= end {
                return Ok(cancelled);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn cancel_all(queue: &Queue, tasks: Vec<TaskId>) -> Result<All, Failure> {
    let progress = ProgressBar::new(tasks.len() as u64);
    let mut results = stream::iter(tasks)
        .map(|task| async move { queue.operator.cancel(&task).await })
        .buffer_unordered(AT_ONCE);
    let mut all = All::default();
    while let Some(result) = results.next().await {
        match result? {
            Cancelled::Done => all.cancelled += 1,
            Cancelled::Is(_) => all.started += 1,
            Cancelled::NotFound => all.gone += 1,
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(all)
}

/// The outcome of a cancellation by a filter.
#[derive(Debug, Default)]
struct All {
    cancelled: u32,
    /// Tasks that a processor took meanwhile.
    started: u32,
    /// Tasks that were deleted already.
    gone: u32,
}

impl Report for All {
    fn exit(&self) -> Exit {
        match self.started {
            0 => Exit::Done,
            _ => Exit::NotAll,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("cancelled: {}", self.cancelled);
        if self.started > 0 {
            text += &format!("; started meanwhile, not cancelled: {}", self.started);
        }
        if self.gone > 0 {
            text += &format!("; already deleted: {}", self.gone);
        }
        text
    }

    fn json(&self) -> Value {
        json!({ "cancelled": self.cancelled, "started": self.started, "gone": self.gone })
    }
}
