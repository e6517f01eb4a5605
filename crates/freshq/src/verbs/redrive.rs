//! `freshq redrive`: retries failed tasks.

use std::time::Duration;

use async_trait::async_trait;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use lifo_queue::depth;
use lifo_queue::operate::{Find, OperateError, RedriveReport};
use lifo_queue::store::Redriven;
use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::json;

use super::matches::Matches;
use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, failed_changes, task_id, wake};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format;

/// Retries failed tasks: attempts from 0, a new expiry, the original age.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["tasks", "all", "error"]))]
pub(crate) struct Redrive {
    /// The tasks to retry
    #[arg(value_name = "TASK_ID", value_parser = task_id)]
    pub(crate) tasks: Vec<TaskId>,
    /// Every task that is FAILURE
    #[arg(long)]
    pub(crate) all: bool,
    /// Every FAILURE task whose last error contains this text or matches a pattern from freshq
    /// errors; reads each failed task
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) error: Option<String>,
    /// Only lists the tasks that --all or --error would redrive
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) dry_run: bool,
    /// Skips the confirmation of --all and --error
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) yes: bool,
    /// The time until the new expiry
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = time_format::parse_duration)]
    pub(crate) ttl: Duration,
}

#[async_trait]
impl VerbOnQueue for Redrive {
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        match (self.all || self.error.is_some(), self.dry_run) {
            (false, _) => Ok(self.redrive_each(queue).await.report()),
            (true, true) => {
                let find = Find {
                    error: self.error.clone(),
                    ..Find::newest(TaskStatus::Failure, usize::MAX)
                };
                Ok(Matches::read(queue, find).await?.report("redrive"))
            }
            (true, false) => self.redrive_all(queue, prompt).await,
        }
    }
}

impl Redrive {
    async fn redrive_each(&self, queue: &Queue) -> TaskOutcomes {
        let mut report = TaskOutcomes::new("redriven");
        for task in &self.tasks {
            let outcome = match report.has_failed() {
                true => Outcome::NotTried,
                false => match queue.operator.redrive(task, self.ttl).await {
                    Ok(Redriven::Done) => Outcome::Done,
                    Ok(Redriven::Is(status)) => Outcome::Is(status),
                    Ok(Redriven::Replaced) => Outcome::Replaced,
                    Ok(Redriven::NotFound) => Outcome::NotFound,
                    Err(OperateError::Wake(error)) => {
                        Outcome::NotWoken(Failure::from(error).line())
                    }
                    Err(OperateError::Store(error)) => Outcome::unknown(error),
                },
            };
            report.note(task, outcome);
        }
        report
    }

    async fn redrive_all(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        if !self.yes {
            let now = queue.clock.now();
            let failed = depth::measure(&*queue.store, TaskStatus::Failure, None, now).await?;
            if failed.count == 0 && failed.exact {
                return Ok(of_all(&RedriveReport::default()));
            }
            let which = match &self.error {
                None => String::new(),
                Some(text) => format!(", but only those with {text:?} in the last error,"),
            };
            let question = format!(
                "Retry {failed} failed tasks of {}{which} with a new expiry in {}?",
                queue.place().await,
                time_format::rough(self.ttl),
            );
            if !prompt.confirms(&question, "--yes")? {
                let json = json!({ "redriven": 0, "declined": true });
                return Ok(Report::new(Exit::Declined, "nothing was redriven", json));
            }
        }
        let report = match &self.error {
            None => queue.operator.redrive_all(self.ttl).await?,
            Some(text) => queue.operator.redrive_by_error(text, self.ttl).await?,
        };
        Ok(of_all(&report))
    }
}

/// Reports the outcome of a redrive with `--all` or `--error`.
fn of_all(report: &RedriveReport) -> Report {
    let RedriveReport {
        redriven,
        lost,
        failed,
        wake,
    } = report;
    let exit = match lost {
        _ if !failed.is_empty() => Exit::Failed,
        0 => Exit::Done,
        _ => Exit::NotAll,
    };
    let mut text = format!("redriven: {redriven}");
    if *lost > 0 {
        text += &format!("; changed or deleted in the meantime: {lost}");
    }
    if let Some(wake) = wake {
        text += &format!("; {}", wake::text(*wake));
    }
    text += &failed_changes::text(failed);
    let failed = failed_changes::json(failed);
    let json = json!({ "redriven": redriven, "lost": lost, "failed": failed, "wake": wake.map(wake::name) });
    Report::new(exit, text, json)
}
