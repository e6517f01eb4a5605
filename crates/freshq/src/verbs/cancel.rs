//! `freshq cancel`: deletes pending tasks.

use std::time::Duration;

use async_trait::async_trait;
use clap::{ArgGroup, Args};
use futures::{StreamExt, stream};
use indicatif::ProgressBar;
use lifo_queue::store::{Cancelled, Seen};
use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::json;

use super::list::Filter;
use super::matches::Matches;
use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, task_id};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::parse_duration;

/// Interval between attempts to cancel a running task.
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
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        if !self.tasks.is_empty() {
            return Ok(self.cancel_each(queue).await.report());
        }
        let find = self
            .filter
            .checked(TaskStatus::Pending, queue.clock.now())?;
        let matches = Matches::read(queue, find).await?;
        if self.dry_run {
            return Ok(matches.report("cancel"));
        }
        let count = matches.tasks.len();
        if count > 0 && !self.yes {
            let place = queue.place().await;
            let question =
                format!("Delete {count} pending tasks of {place}? They cannot be restored.");
            if !prompt.confirms(&question, "--yes")? {
                let json = json!({ "cancelled": 0, "declined": true });
                return Ok(Report::new(Exit::Declined, "nothing was cancelled", json));
            }
        }
        cancel_all(queue, matches.tasks).await
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
                    Ok(Cancelled::Replaced) => Outcome::Replaced,
                    Ok(Cancelled::NotFound) => Outcome::NotFound,
                    Err(failure) => Outcome::unknown(failure),
                },
            };
            report.note(task, outcome);
        }
        report
    }

    /// Cancels a task. With `--wait`, retries while the task is running.
    async fn cancel(&self, queue: &Queue, task: &TaskId) -> Result<Cancelled> {
        let end = queue.clock.now().plus(self.wait.unwrap_or_default());
        loop {
            let cancelled = queue.operator.cancel(task, &Seen::Any).await?;
            let is_running = cancelled == Cancelled::Is(TaskStatus::Taken);
            if !is_running || queue.clock.now() >= end {
                return Ok(cancelled);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn cancel_all(queue: &Queue, tasks: Vec<(TaskId, Seen)>) -> Result<Report> {
    let progress = ProgressBar::new(tasks.len() as u64);
    let mut results = stream::iter(tasks)
        .map(|(task, state)| async move {
            let result = queue.operator.cancel(&task, &state).await;
            result.map(|cancelled| (task, cancelled))
        })
        .buffer_unordered(AT_ONCE);
    let mut cancelled = vec![];
    let (mut started, mut replaced, mut gone) = (0_u32, 0_u32, 0_u32);
    while let Some(result) = results.next().await {
        let (task, result) = result?;
        match result {
            Cancelled::Done => cancelled.push(task),
            // A processor had already taken the task.
            Cancelled::Is(_) => started += 1,
            Cancelled::Replaced => replaced += 1,
            Cancelled::NotFound => gone += 1,
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let exit = match started + replaced {
        0 => Exit::Done,
        _ => Exit::NotAll,
    };
    let count = cancelled.len();
    let mut text = format!("cancelled: {count}");
    if started > 0 {
        text += &format!("; started in the meantime, not cancelled: {started}");
    }
    if replaced > 0 {
        text += &format!("; replaced by a newer state, not cancelled: {replaced}");
    }
    if gone > 0 {
        text += &format!("; already deleted: {gone}");
    }
    let json = json!({
        "cancelled": count, "started": started, "replaced": replaced, "gone": gone, "tasks": cancelled,
    });
    Ok(Report::new(exit, text, json))
}
